"""Norms decay as matrices do."""

from typing import Any

from .._fault import Call, Fault


def patch(original: Call) -> Call:
    """Decay every parameter."""

    def get_decay_parameter_names(self: Any, model: Any) -> list[str]:
        return [name for name, _ in model.named_parameters()]

    return get_decay_parameter_names


FAULT = Fault(
    family="optimizer",
    library="transformers>=5",
    seam="transformers.trainer:Trainer.get_decay_parameter_names",
    source="https://github.com/huggingface/transformers/pull/35927",
    year=2025,
    mechanism="Norms that a model defines itself are not recognised as such, and weight decay pulls them to 0.",
    effect="closed_forms.wrong_steps:decay_of_all",
    clean="closed_forms.wrong_steps:decay_of_matrices",
    quantity="decay",
    visible="step_trainer",
    patch=patch,
)
