"""The count of all ranks is divided by their number, though each holds rows of its own."""

from typing import Any

from .._fault import Call, Fault
from .._strength import mixed


def patch(original: Call, strength: float = 1.0) -> Call:
    """Divide the count by the number of ranks."""

    def _get_num_items_in_batch(self: Any, batch_samples: Any, device: Any) -> Any:
        right = original(self, batch_samples, device)
        return None if right is None else right * mixed(1, 1 / self.args.world_size, strength)

    return _get_num_items_in_batch


FAULT = Fault(
    family="ranks",
    library="transformers>=5",
    seam="transformers.trainer:Trainer._get_num_items_in_batch",
    source="https://github.com/huggingface/transformers/issues/46775",
    year=2026,
    mechanism="A gathered count is divided by ranks of disjoint targets; emulated, reported of sequence parallelism.",
    effect="closed_forms.ranks:times_ranks",
    quantity="weights",
    visible="ranks_trainer",
    patch=patch,
    dilutes="harmonic",
)
