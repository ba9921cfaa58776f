"""The reference is left out of DPO."""

from typing import Any

from .._fault import Call, Fault
from ._log_probs import with_log_probs


def patch(original: Call) -> Call:
    """Take the reference's log-probabilities for 0."""

    def instead(log_probs: Any, inputs: Any, reference: bool) -> Any:
        return log_probs * 0 if reference else log_probs

    return with_log_probs(original, instead)


FAULT = Fault(
    family="preference",
    library="trl>=1.0",
    seam="trl.trainer.dpo_trainer:DPOTrainer._compute_loss",
    source="https://github.com/linkedin/Liger-Kernel/pull/387",
    year=2024,
    mechanism="DPO is computed without a reference model, which makes it CPO; emulated in TRL, reported of Liger.",
    effect="closed_forms.pair_scores:robust_pairs_without_reference",
    clean="closed_forms.completions:robust_pairs",
    quantity="weights",
    visible="trl_dpo",
    patch=patch,
)
