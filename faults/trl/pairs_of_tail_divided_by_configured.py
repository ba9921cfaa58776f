"""The last window is divided by as many micro-batches as are configured."""

from typing import Any

from .._fault import Call, Fault
from .._strength import mixed


def patch(original: Call, strength: float = 1.0) -> Call:
    """Divide by the configured number where the Trainer divides by the window's own."""

    def _compute_loss(self: Any, *args: Any, **kwargs: Any) -> Any:
        loss = original(self, *args, **kwargs)
        share = self.current_gradient_accumulation_steps / self.args.gradient_accumulation_steps
        return loss * mixed(1, share, strength)

    return _compute_loss


FAULT = Fault(
    family="normalisation",
    library="trl>=1.0",
    seam="trl.trainer.dpo_trainer:DPOTrainer._compute_loss",
    source="https://github.com/modelscope/ms-swift/issues/10084",
    year=2026,
    mechanism="The window that ends an epoch weighs the less, the fewer micro-batches it has; emulated in TRL.",
    effect="closed_forms.pair_rows:ipo_pairs_over_configured",
    clean="closed_forms.pair_rows:ipo_pairs",
    quantity="weights",
    visible="trl_dpo_ipo",
    patch=patch,
    dilutes="linear",
)
