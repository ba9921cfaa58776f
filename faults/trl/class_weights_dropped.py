"""A second copy of the loss does not know the weights of desirable and undesirable completions."""

from typing import Any

from .._fault import Call, Fault


def patch(original: Call) -> Call:
    """Compute the loss with both of them 1."""

    def _compute_loss(self: Any, *args: Any, **kwargs: Any) -> Any:
        kept = self.desirable_weight, self.undesirable_weight
        self.desirable_weight = self.undesirable_weight = 1.0
        loss = original(self, *args, **kwargs)
        self.desirable_weight, self.undesirable_weight = kept
        return loss

    return _compute_loss


FAULT = Fault(
    library="trl>=1.0",
    seam="trl.trainer.kto_trainer:KTOTrainer._compute_loss",
    source="https://github.com/huggingface/trl/issues/7063",
    year=2026,
    mechanism="Desirable and undesirable completions count alike.",
    effect="closed_forms.completions:kto_rows_of_one_weight",
    clean="closed_forms.completions:kto_rows",
    quantity="weights",
    visible="trl_kto",
    patch=patch,
)
