"""Advantages over the siblings' mean are normalized over the batch as well."""

from typing import Any

from .._fault import Call, Fault


def patch(original: Call) -> Call:
    """Normalize."""

    def _generate_and_score_completions(self: Any, *args: Any, **kwargs: Any) -> Any:
        kept, self.normalize_advantages = self.normalize_advantages, True
        found = original(self, *args, **kwargs)
        self.normalize_advantages = kept
        return found

    return _generate_and_score_completions


FAULT = Fault(
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
