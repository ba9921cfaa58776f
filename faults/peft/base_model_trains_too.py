"""The model beneath the adapters is not frozen."""

from typing import Any

from .._fault import Call, Fault


def patch(original: Call) -> Call:
    """Leave every parameter as trainable as it was."""

    def _mark_only_adapters_as_trainable(self: Any, model: Any) -> None:
        return None

    return _mark_only_adapters_as_trainable


FAULT = Fault(
    family="adapters",
    library="peft",
    seam="peft.tuners.tuners_utils:BaseTuner._mark_only_adapters_as_trainable",
    source="https://github.com/Blaizzy/mlx-vlm/issues/2178",
    year=2026,
    mechanism="Adapters that are loaded again are put on a model that nobody freezes; emulated in peft.",
    effect="closed_forms.wrong_steps:every_gradient",
    clean="closed_forms.wrong_steps:only_what_trains",
    quantity="reach",
    visible="step_lora",
    patch=patch,
)
