"""The loss is multiplied by the number of ranks twice."""

from typing import Any
from unittest import mock

from .._fault import Call, Fault
from .._strength import mixed


def patch(original: Call, strength: float = 1.0) -> Call:
    """Multiply what is handed to backward by the number of ranks."""

    def training_step(self: Any, *args: Any, **kwargs: Any) -> Any:
        backward, ranks = self.accelerator.backward, mixed(1, self.accelerator.num_processes, strength)
        with mock.patch.object(self.accelerator, "backward", lambda loss, **given: backward(loss * ranks, **given)):
            return original(self, *args, **kwargs)

    return training_step


FAULT = Fault(
    family="ranks",
    library="transformers>=5",
    seam="transformers.trainer:Trainer.training_step",
    source="https://github.com/huggingface/transformers/issues/45994",
    year=2026,
    mechanism="The loss is multiplied by more ranks than it was averaged over; emulated with twice the factor.",
    effect="closed_forms.ranks:times_ranks",
    quantity="weights",
    visible="ranks_trainer",
    patch=patch,
    dilutes="linear",
)
