"""The constant length of Dr. GRPO is the padded width of the micro-batch."""

from typing import Any
from unittest import mock

from .._fault import Call, Fault
from .._strength import mixed


def patch(original: Call, strength: float = 1.0) -> Call:
    """Divide by the width."""

    def _compute_loss(self: Any, model: Any, inputs: Any) -> Any:
        width = mixed(self.max_completion_length, int(inputs["completion_mask"].sum(1).max()), strength)
        with mock.patch.object(self, "max_completion_length", width):
            return original(self, model, inputs)

    return _compute_loss


FAULT = Fault(
    family="policy",
    library="trl>=1.0",
    seam="trl.trainer.grpo_trainer:GRPOTrainer._compute_loss",
    source="https://github.com/verl-project/verl/issues/3741",
    year=2025,
    mechanism="What a token weighs depends on the longest completion beside it; emulated in TRL.",
    effect="closed_forms.rollouts:by_widths",
    clean="closed_forms.rollouts:by_slots",
    quantity="weights",
    visible="trl_grpo_slots",
    patch=patch,
    dilutes="harmonic",
)
