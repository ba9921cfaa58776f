"""The gradient of a step is still there in the next."""

from typing import Any

from .._fault import Call, Fault


def patch(original: Call) -> Call:
    """Leave the gradients as they are."""

    def zero_grad(self: Any, set_to_none: bool | None = None) -> None:
        return None

    return zero_grad


FAULT = Fault(
    family="optimizer",
    library="accelerate>=1",
    seam="accelerate.optimizer:AcceleratedOptimizer.zero_grad",
    source="https://github.com/meta-pytorch/torchforge/pull/71",
    year=2025,
    mechanism="Nothing empties the gradients after a step, so each step consumes those of all steps before it.",
    effect="closed_forms.counted_samples:carried_over",
    quantity="weights",
    visible="accelerate_windows",
    patch=patch,
)
