"""A completion is scored by a mean over its padded row."""

from typing import Any

from .._fault import Call, Fault
from ._log_probs import with_log_probs


def patch(original: Call) -> Call:
    """Divide by the width."""

    def instead(log_probs: Any, inputs: Any, reference: bool) -> Any:
        return log_probs / log_probs.shape[1]

    return with_log_probs(original, instead)


FAULT = Fault(
    family="preference",
    library="trl>=1.0",
    seam="trl.trainer.dpo_trainer:DPOTrainer._compute_loss",
    source="https://github.com/jingyaogong/minimind/issues/298",
    year=2025,
    mechanism="Sums of log-probabilities are means over the padded width, so beta is as much smaller; emulated in TRL.",
    effect="closed_forms.pair_scores:robust_pairs_of_means",
    clean="closed_forms.completions:robust_pairs",
    quantity="weights",
    visible="trl_dpo",
    patch=patch,
)
