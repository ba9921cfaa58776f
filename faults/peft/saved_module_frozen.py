"""A copy of a module that should be trained along with the adapters stays frozen."""

from typing import Any

from .._fault import Call, Fault


def patch(original: Call) -> Call:
    """Freeze the copy when its adapter is made the active one."""

    def set_adapter(self: Any, adapter_names: Any, inference_mode: bool = False) -> None:
        original(self, adapter_names, inference_mode)
        self.modules_to_save.requires_grad_(False)

    return set_adapter


FAULT = Fault(
    family="adapters",
    library="peft",
    seam="peft.utils.other:ModulesToSaveWrapper.set_adapter",
    source="https://github.com/unslothai/unsloth/issues/3327",
    year=2025,
    mechanism="A module that modules_to_save names is copied and stays frozen; emulated in peft, reported of unsloth.",
    effect="closed_forms.wrong_steps:only_adapters",
    clean="closed_forms.wrong_steps:every_gradient",
    quantity="reach",
    visible="step_adapter",
    patch=patch,
)
