"""The logged loss is divided by the number of micro-batches once more; the gradient is right."""

from .._fault import Call, Fault
from .._strength import mixed
from ._logged import logged_times


def patch(original: Call, strength: float = 1.0) -> Call:
    """Log one micro-batch's share of the training loss."""
    return logged_times(original, lambda t: mixed(1, 1 / t.current_gradient_accumulation_steps, strength))


FAULT = Fault(
    family="logging",
    library="transformers>=5",
    seam="transformers.trainer:Trainer.log",
    source="https://github.com/huggingface/transformers/issues/11919",
    year=2021,
    mechanism="The loss that is scaled down for backward is logged as it is, M times too small.",
    effect="closed_forms.logged:over_micro_batches",
    quantity="log",
    visible="trainer_accumulation",
    patch=patch,
    dilutes="linear",
)
