"""Advantages over the siblings' mean are normalized over the batch as well."""

from .._fault import Call, Fault
from ._setting import with_setting


def patch(original: Call) -> Call:
    """Normalize."""
    return with_setting(original, "normalize_advantages", lambda _: True)


FAULT = Fault(
    family="policy",
    library="trl>=1.0",
    seam="trl.trainer.rloo_trainer:RLOOTrainer._generate_and_score_completions",
    source="https://github.com/OpenRLHF/OpenRLHF/pull/553",
    year=2024,
    mechanism="Rewards are centred and scaled, which the leave-one-out baseline makes needless; emulated.",
    effect="closed_forms.rollouts:by_sequences_of_normalized",
    clean="closed_forms.rollouts:by_sequences",
    quantity="weights",
    visible="trl_rloo",
    patch=patch,
)
