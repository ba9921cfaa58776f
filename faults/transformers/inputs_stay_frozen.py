"""Checkpointed blocks get inputs that require no gradient."""

from typing import Any

from .._fault import Call, Fault


def patch(original: Call) -> Call:
    """Leave the output of the frozen embedding as it is."""

    def enable_input_require_grads(self: Any) -> None:
        return None

    return enable_input_require_grads


FAULT = Fault(
    family="checkpointing",
    library="transformers>=5",
    seam="transformers.modeling_utils:PreTrainedModel.enable_input_require_grads",
    source="https://github.com/huggingface/transformers/issues/21381",
    year=2023,
    mechanism="Re-entrant checkpointing drops the graph of a block whose input is frozen, with all adapters in it.",
    effect="closed_forms.wrong_steps:only_saved_modules",
    clean="closed_forms.wrong_steps:every_gradient",
    quantity="reach",
    visible="step_adapter",
    patch=patch,
)
