"""The log of the first step is divided by the steps between two logs."""

from .._fault import Call, Fault
from .._strength import mixed
from ._logged import logged_times


def patch(original: Call, strength: float = 1.0) -> Call:
    """Divide the loss of the first step by the steps that a log usually has."""
    return logged_times(
        original, lambda t: mixed(1, 1 / t.state.logging_steps, strength) if t.state.global_step == 1 else 1.0
    )


FAULT = Fault(
    family="logging",
    library="transformers>=5",
    seam="transformers.trainer:Trainer.log",
    source="https://github.com/huggingface/transformers/pull/8193",
    year=2020,
    mechanism="One step is logged as if it were the mean of as many as lie between two logs.",
    effect="closed_forms.logged:over_logging_steps",
    quantity="log",
    visible="trainer_first_log",
    patch=patch,
    dilutes="linear",
)
