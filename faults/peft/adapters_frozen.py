"""Adapters that are there already stay as frozen as the model beneath them."""

from typing import Any

from .._fault import Call, Fault


def patch(original: Call) -> Call:
    """Activate adapters as for inference."""

    def set_adapter(self: Any, adapter_names: Any, inference_mode: bool = False) -> None:
        original(self, adapter_names, True)

    return set_adapter


FAULT = Fault(
    family="adapters",
    library="peft",
    seam="peft.tuners.tuners_utils:BaseTunerLayer.set_adapter",
    source="https://github.com/X-GenGroup/Flow-Factory/pull/56",
    year=2026,
    mechanism="A model that has adapters is frozen, and passed over when they are to be trained; emulated in peft.",
    effect="closed_forms.wrong_steps:only_saved_modules",
    clean="closed_forms.wrong_steps:every_gradient",
    quantity="reach",
    visible="step_adapter",
    patch=patch,
)
