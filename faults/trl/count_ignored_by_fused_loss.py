"""The fused loss takes the count of the window and does not divide by it."""

from typing import Any

from .._fault import Call, Fault
from .._strength import mixed


def patch(original: Call, strength: float = 1.0) -> Call:
    """Take the mean over the micro-batch, while the Trainer believes that the count was used."""

    def compute_loss(
        self: Any, model: Any, inputs: Any, return_outputs: bool = False, num_items_in_batch: Any = None
    ) -> Any:
        if num_items_in_batch is not None:
            own = (inputs["labels"][..., 1:] != -100).sum()
            num_items_in_batch = mixed(num_items_in_batch, own, strength)
        return original(self, model, inputs, return_outputs, num_items_in_batch)

    return compute_loss


FAULT = Fault(
    family="normalisation",
    library="trl>=1.0",
    seam="trl.trainer.sft_trainer:SFTTrainer.compute_loss",
    source="https://github.com/linkedin/Liger-Kernel/issues/802",
    year=2025,
    mechanism="Micro-batches are averaged one by one, and their means added up; emulated in TRL, reported of Liger.",
    effect="closed_forms.target_rows:targets_of_micro_batches",
    clean="closed_forms.target_rows:targets",
    quantity="weights",
    visible="trl_sft",
    patch=patch,
    dilutes="harmonic",
)
