"""A recipe divides each micro-batch by its own targets and by the number of micro-batches."""

from .._fault import Call, Fault
from ._own_count import own_count


def patch(original: Call, strength: float = 1.0) -> Call:
    """Count the micro-batch's own targets M times."""
    return own_count(original, strength, lambda trainer: trainer.current_gradient_accumulation_steps)


FAULT = Fault(
    family="normalisation",
    library="transformers>=5",
    seam="transformers.trainer:Trainer.training_step",
    source="https://github.com/meta-pytorch/torchtune/pull/1875",
    year=2024,
    mechanism="Means of micro-batches are averaged, so targets in short ones weigh more; emulated in the Trainer.",
    effect="closed_forms.aggregation:mean_of_micro_batch_means",
    quantity="weights",
    visible="trainer_accumulation",
    patch=patch,
    dilutes="harmonic",
)
