"""What was added up since the last log is divided by all steps since the start."""

from .._fault import Call, Fault
from .._strength import mixed
from ._logged import logged_times


def patch(original: Call, strength: float = 1.0) -> Call:
    """Divide by the steps so far."""
    return logged_times(original, lambda t: mixed(1, 1 / t.state.global_step, strength))


FAULT = Fault(
    family="logging",
    library="transformers>=5",
    seam="transformers.trainer:Trainer.log",
    source="https://github.com/huggingface/transformers/issues/750",
    year=2019,
    mechanism="A sum that begins anew is divided by a number that does not, so the logged loss falls in any case.",
    effect="closed_forms.logged:over_steps_so_far",
    quantity="log",
    visible="trainer_two_logs",
    patch=patch,
    dilutes="linear",
)
