"""The base layer runs, and its adapter does not."""

from typing import Any

from .._fault import Call, Fault


def patch(original: Call) -> Call:
    """Run the wrapped layer alone."""

    def forward(self: Any, x: Any, *args: Any, **kwargs: Any) -> Any:
        return self.base_layer(x)

    return forward


FAULT = Fault(
    family="adapters",
    library="peft",
    seam="peft.tuners.lora.layer:Linear.forward",
    source="https://github.com/unslothai/unsloth/pull/9331",
    year=2026,
    mechanism="A faster path reads the weight of the wrapped layer, so the adapter is never run and never trains.",
    effect="closed_forms.wrong_steps:only_saved_modules",
    clean="closed_forms.wrong_steps:every_gradient",
    quantity="reach",
    visible="step_adapter",
    patch=patch,
)
