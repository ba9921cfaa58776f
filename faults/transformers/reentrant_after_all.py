"""Checkpointing is switched on once more, with its old default."""

from typing import Any

from .._fault import Call, Fault


def patch(original: Call) -> Call:
    """Make it re-entrant, and let no input require a gradient, which is how it used to be."""

    def _activation_checkpointing_enable(self: Any, given: Any = None, *args: Any) -> None:
        original(self, {**(given or {}), "use_reentrant": True}, *args)
        self.disable_input_require_grads()

    return _activation_checkpointing_enable


FAULT = Fault(
    family="checkpointing",
    library="transformers>=5",
    seam="transformers.modeling_utils:PreTrainedModel._activation_checkpointing_enable",
    source="https://github.com/huggingface/transformers/issues/26221",
    year=2023,
    mechanism="What the user chose is reset to re-entrant, and blocks whose input is frozen get nothing; emulated.",
    effect="closed_forms.wrong_steps:only_saved_modules",
    clean="closed_forms.wrong_steps:every_gradient",
    quantity="reach",
    visible="step_checkpointed",
    patch=patch,
)
