"""The supervised term beside the preference loss is averaged over its tokens twice."""

from typing import Any
from unittest import mock

from .._fault import Call, Fault
from .._strength import mixed


def patch(original: Call, strength: float = 1.0) -> Call:
    """Divide its weight by the tokens."""

    def _compute_loss(self: Any, model: Any, inputs: Any, *args: Any) -> Any:
        chosen = float(inputs["completion_mask"].chunk(2)[0].sum())
        share = mixed(1, 1 / chosen, strength)
        weights = [w * share if name == "sft" else w for name, w in zip(self.loss_types, self.loss_weights)]
        with mock.patch.object(self, "loss_weights", weights):
            return original(self, model, inputs, *args)

    return _compute_loss


FAULT = Fault(
    family="preference",
    library="trl>=1.0",
    seam="trl.trainer.dpo_trainer:DPOTrainer._compute_loss",
    source="https://github.com/hiyouga/LlamaFactory/pull/6722",
    year=2025,
    mechanism="Chosen answers are hardly learned by heart, the less the longer they are; emulated in TRL.",
    effect="closed_forms.pair_rows:pairs_with_answers_averaged_twice",
    clean="closed_forms.pair_rows:pairs_with_answers",
    quantity="weights",
    visible="trl_dpo_answers",
    patch=patch,
    dilutes="linear",
)
