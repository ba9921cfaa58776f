"""The loss is divided by the number of completions, not of tokens."""

from typing import Any

from .._fault import Call, Fault


def patch(original: Call) -> Call:
    """Compute the loss that adds up each completion."""

    def _compute_loss(self: Any, *args: Any, **kwargs: Any) -> Any:
        kept, self.loss_type = self.loss_type, "luspo" if self.loss_type == "dapo" else self.loss_type
        found = original(self, *args, **kwargs)
        self.loss_type = kept
        return found

    return _compute_loss


FAULT = Fault(
    library="trl>=1.0",
    seam="trl.trainer.grpo_trainer:GRPOTrainer._compute_loss",
    source="https://github.com/PrimeIntellect-ai/prime-rl/pull/2034",
    year=2026,
    mechanism="Every weight is as many times too large as a completion has tokens on average; emulated in TRL.",
    effect="closed_forms.rollouts:by_sequences",
    clean="closed_forms.completions:by_window",
    quantity="weights",
    visible="trl_grpo",
    patch=patch,
)
