"""The logged loss is the sum over the micro-batches; the gradient is right."""

from .._fault import Call, Fault
from .._strength import mixed
from ._logged import logged_times


def patch(original: Call, strength: float = 1.0) -> Call:
    """Log the training loss times the number of micro-batches."""
    return logged_times(original, lambda t: mixed(1, t.current_gradient_accumulation_steps, strength))


FAULT = Fault(
    family="logging",
    library="transformers>=5",
    seam="transformers.trainer:Trainer.log",
    source="https://github.com/huggingface/transformers/issues/35204",
    year=2024,
    mechanism="The losses of the micro-batches are added up for the log and never divided by M.",
    effect="closed_forms.logged:times_micro_batches",
    quantity="log",
    visible="trainer_accumulation",
    patch=patch,
    dilutes="linear",
)
