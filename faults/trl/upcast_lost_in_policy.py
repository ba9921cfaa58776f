"""The policy's log-probabilities are not upcast, the reference's are."""

from typing import Any

from .._fault import Call, Fault
from ._log_probs import with_log_probs


def patch(original: Call) -> Call:
    """Round the policy's."""

    def instead(log_probs: Any, inputs: Any, reference: bool) -> Any:
        return log_probs if reference else log_probs.bfloat16().to(log_probs.dtype)

    return with_log_probs(original, instead)


FAULT = Fault(
    family="precision",
    library="trl>=1.0",
    seam="trl.trainer.dpo_trainer:DPOTrainer._compute_loss",
    source="https://github.com/huggingface/trl/pull/7084",
    year=2026,
    mechanism="A second path computes the policy in bfloat16 and compares it with reference scores of float32.",
    effect="closed_forms.pair_scores:sigmoid_pairs_against_exact_reference",
    clean="closed_forms.pair_rows:sigmoid_pairs",
    quantity="weights",
    visible="trl_dpo_sharp",
    patch=patch,
)
