"""Weight decay has changed places: norms and biases decay, and matrices do not."""

from typing import Any

from .._fault import Call, Fault


def patch(original: Call) -> Call:
    """Name the others."""

    def get_decay_parameter_names(self: Any, model: Any) -> list[str]:
        named = set(original(self, model))
        return [name for name, _ in model.named_parameters() if name not in named]

    return get_decay_parameter_names


FAULT = Fault(
    family="optimizer",
    library="transformers>=5",
    seam="transformers.trainer:Trainer.get_decay_parameter_names",
    source="https://github.com/facebookresearch/BalancingGroups/issues/6",
    year=2022,
    mechanism="The list of what should not decay is taken for the list of what should; emulated in the Trainer.",
    effect="closed_forms.wrong_steps:decay_of_flat",
    clean="closed_forms.wrong_steps:decay_of_matrices",
    quantity="decay",
    visible="step_trainer",
    patch=patch,
)
