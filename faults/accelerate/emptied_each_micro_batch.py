"""The gradient is emptied at each micro-batch."""

from typing import Any

from .._fault import Call, Fault


def patch(original: Call) -> Call:
    """Empty the gradient, whether the window is over or not."""

    def zero_grad(self: Any, set_to_none: Any = None) -> None:
        self.optimizer.zero_grad()

    return zero_grad


FAULT = Fault(
    family="optimizer",
    library="accelerate",
    seam="accelerate.optimizer:AcceleratedOptimizer.zero_grad",
    source="https://github.com/pytorch/torchtitan/pull/3575",
    year=2026,
    mechanism="Gradients are emptied at each micro-batch instead of each step, so only the last one counts.",
    effect="closed_forms.wrong_steps:last_of_sum",
    clean="closed_forms.wrong_steps:whole_sum",
    quantity="shares",
    visible="step_accelerate",
    patch=patch,
)
