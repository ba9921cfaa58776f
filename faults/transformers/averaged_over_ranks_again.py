"""A loss over the count of all ranks is left as it is, though the gradients are averaged over the ranks."""

from typing import Any

from .._fault import Call, Fault
from .._strength import mixed


def patch(original: Call, strength: float = 1.0) -> Call:
    """Take the number of ranks out of the loss again."""

    def compute_loss(self: Any, *args: Any, **kwargs: Any) -> Any:
        loss = original(self, *args, **kwargs)
        share = mixed(1, 1 / self.accelerator.num_processes, strength)
        return (loss[0] * share, *loss[1:]) if isinstance(loss, tuple) else loss * share

    return compute_loss


FAULT = Fault(
    family="ranks",
    library="transformers>=5",
    seam="transformers.trainer:Trainer.compute_loss",
    source="https://github.com/meta-pytorch/torchtune/pull/2172",
    year=2024,
    mechanism="Gradients over the count of all ranks are averaged over the ranks once more; emulated in the Trainer.",
    effect="closed_forms.ranks:divided_by_ranks",
    quantity="weights",
    visible="ranks_trainer",
    patch=patch,
    dilutes="linear",
)
