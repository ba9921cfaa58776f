"""Log-probabilities are bfloat16."""

from typing import Any

from .._fault import Call, Fault
from ._log_probs import with_log_probs


def patch(original: Call) -> Call:
    """Round both models' log-probabilities."""

    def instead(log_probs: Any, inputs: Any, reference: bool) -> Any:
        return log_probs.bfloat16().to(log_probs.dtype)

    return with_log_probs(original, instead)


FAULT = Fault(
    family="precision",
    library="trl>=1.0",
    seam="trl.trainer.dpo_trainer:DPOTrainer._compute_loss",
    source="https://github.com/genlm/genlm-backend/pull/66",
    year=2026,
    mechanism="Log-probabilities keep 8 bits, so those of unlikely tokens are far off; emulated in TRL.",
    effect="closed_forms.pair_scores:sigmoid_pairs_in_bfloat16",
    clean="closed_forms.pair_rows:sigmoid_pairs",
    quantity="weights",
    visible="trl_dpo_sharp",
    patch=patch,
)
