"""The gradient of the first micro-batch is kept, and that of the others is not added."""

from typing import Any

from .._fault import Call, Fault
from .._strength import mixed


def patch(original: Call, strength: float = 1.0) -> Call:
    """Add nothing to a gradient that is there."""

    def backward(self: Any, loss: Any, **kwargs: Any) -> None:
        begun = [p for model in self._models for p in model.parameters() if p.grad is not None]
        hooks = [parameter.register_hook(lambda more: more * mixed(1, 0, strength)) for parameter in begun]
        try:
            original(self, loss, **kwargs)
        finally:
            for hook in hooks:
                hook.remove()

    return backward


FAULT = Fault(
    family="normalisation",
    library="accelerate>=1",
    seam="accelerate.accelerator:Accelerator.backward",
    source="https://github.com/deepspeedai/DeepSpeed/pull/7967",
    year=2026,
    mechanism="Gradients are copied in the first micro-step alone; emulated in accelerate, reported of DeepSpeed.",
    effect="closed_forms.wrong_steps:first_of_sum",
    clean="closed_forms.wrong_steps:whole_sum",
    quantity="shares",
    visible="step_accelerate",
    patch=patch,
    dilutes="linear",
)
