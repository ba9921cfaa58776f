"""A sequence begins one token late."""

from typing import Any

from .._fault import Call, Fault


def patch(original: Call) -> Call:
    """Give each token the number of the one before it."""

    def from_batch(batch: Any, shape: Any) -> Any:
        ids_bt, said = original(batch, shape)
        ids_bt[:, 1:] = ids_bt[:, :-1].clone()
        return ids_bt, said

    return from_batch


FAULT = Fault(
    family="instrument",
    library="instrument",
    seam="instrument.leak_sequences:from_batch",
    mechanism="The first token of each sequence counts as the last of the one before, which it then seems to read.",
    effect="closed_forms.leaks:neighbour",
    quantity="leak",
    visible="leak_by_positions",
    patch=patch,
)
