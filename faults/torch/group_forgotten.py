"""A group of parameters is built and never handed to the optimizer."""

from typing import Any

from .._fault import Call, Fault


def patch(original: Call) -> Call:
    """Keep the first group only."""

    def add_param_group(self: Any, param_group: Any) -> None:
        if not self.param_groups:
            original(self, param_group)

    return add_param_group


FAULT = Fault(
    family="optimizer",
    library="torch>=2.4",
    seam="torch.optim.optimizer:Optimizer.add_param_group",
    source="https://github.com/zjunlp/HVPNeT/issues/5",
    year=2022,
    mechanism="Parameters get a gradient in every step, and no group of the optimizer holds them.",
    effect="closed_forms.wrong_steps:second_group_missing",
    clean="closed_forms.wrong_steps:in_one_group",
    quantity="groups",
    visible="step_trainer",
    patch=patch,
)
