"""The weight of the supervised term stands before the preference loss."""

from typing import Any
from unittest import mock

from .._fault import Call, Fault
from .._strength import mixed


def patch(original: Call, strength: float = 1.0) -> Call:
    """Let the weights change places."""

    def _compute_loss(self: Any, *args: Any) -> Any:
        weights = [mixed(w, other, strength) for w, other in zip(self.loss_weights, reversed(self.loss_weights))]
        with mock.patch.object(self, "loss_weights", weights):
            return original(self, *args)

    return _compute_loss


FAULT = Fault(
    family="regularizers",
    library="trl>=1.0",
    seam="trl.trainer.dpo_trainer:DPOTrainer._compute_loss",
    source="https://github.com/huggingface/trl/issues/1868",
    year=2024,
    mechanism="The less the chosen answers should be learned by heart, the more they are, and the pairs the less.",
    effect="closed_forms.pair_rows:light_pairs_with_answers",
    clean="closed_forms.pair_rows:pairs_with_light_answers",
    quantity="weights",
    visible="trl_dpo_light_answers",
    patch=patch,
    dilutes="linear",
)
