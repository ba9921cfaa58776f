"""A plain optimizer keeps the gradient of the step before."""

from typing import Any

from .._fault import Call, Fault


def patch(original: Call) -> Call:
    """Leave the gradients as they are."""

    def zero_grad(self: Any, set_to_none: bool = True) -> None:
        return None

    return zero_grad


FAULT = Fault(
    family="optimizer",
    library="torch>=2.4",
    seam="torch.optim.optimizer:Optimizer.zero_grad",
    source="https://github.com/tenstorrent/tt-blacksmith/pull/711",
    year=2026,
    mechanism="The trainer never empties the gradients of its optimizer, so they add up over all steps.",
    effect="closed_forms.counted_samples:carried_over",
    quantity="weights",
    visible="accelerate_windows",
    patch=patch,
)
