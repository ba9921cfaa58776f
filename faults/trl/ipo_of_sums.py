"""The scores of IPO are sums over the completions."""

from typing import Any

from .._fault import Call, Fault
from ._log_probs import with_log_probs


def patch(original: Call) -> Call:
    """Take the division by the length back."""

    def instead(log_probs: Any, inputs: Any, reference: bool) -> Any:
        return log_probs * inputs["completion_mask"].sum(1, keepdim=True)

    return with_log_probs(original, instead)


FAULT = Fault(
    family="preference",
    library="trl>=1.0",
    seam="trl.trainer.dpo_trainer:DPOTrainer._compute_loss",
    source="https://github.com/huggingface/trl/pull/1265",
    year=2024,
    mechanism="The goal of the margin depends on how long the completions are.",
    effect="closed_forms.pair_scores:ipo_pairs_of_sums",
    clean="closed_forms.pair_rows:ipo_pairs",
    quantity="weights",
    visible="trl_dpo_ipo",
    patch=patch,
)
