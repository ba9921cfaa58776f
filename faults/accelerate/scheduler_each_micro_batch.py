"""The learning rate advances at each micro-batch."""

from typing import Any

from .._fault import Call, Fault


def patch(original: Call) -> Call:
    """Advance, whether the optimizer has stepped or not."""

    def step(self: Any, *args: Any, **kwargs: Any) -> None:
        self.scheduler.step(*args, **kwargs)

    return step


FAULT = Fault(
    family="optimizer",
    library="accelerate",
    seam="accelerate.scheduler:AcceleratedScheduler.step",
    source="https://github.com/starVLA/starVLA/pull/210",
    year=2026,
    mechanism="The schedule counts micro-batches and not steps, so the learning rate decays M times too fast.",
    effect="closed_forms.wrong_steps:linear_rate_of_micro_batches",
    clean="closed_forms.wrong_steps:linear_rate",
    quantity="rate",
    visible="step_accelerate",
    patch=patch,
)
