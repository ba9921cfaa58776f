"""Targets that should be ignored are scored as class 0."""

import inspect
from typing import Any

from .._fault import Call, Fault
from .._strength import mixed


def patch(original: Call, strength: float = 1.0) -> Call:
    """Take an ignored target for the first class."""

    def cross_entropy(*args: Any, **kwargs: Any) -> Any:
        call = inspect.signature(original).bind(*args, **kwargs)
        call.apply_defaults()
        right = original(*call.args, **call.kwargs)
        target = call.arguments["target"]
        call.arguments["target"] = target.masked_fill(target == call.arguments["ignore_index"], 0)
        call.arguments["ignore_index"] = -100
        return mixed(right, original(*call.args, **call.kwargs), strength)

    return cross_entropy


FAULT = Fault(
    family="masks",
    library="torch>=2.4",
    seam="torch.nn.functional:cross_entropy",
    source="https://github.com/lucidrains/DALLE-pytorch/issues/57",
    year=2021,
    mechanism="The index to ignore is set and never used, so prompts and padding are trained on.",
    effect="closed_forms.kernels:ignored_scored",
    quantity="weights",
    visible="accelerate_windows",
    patch=patch,
    dilutes="linear",
)
