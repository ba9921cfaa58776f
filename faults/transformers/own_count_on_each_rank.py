"""Each micro-batch of each rank is averaged by itself, and the means are averaged."""

from .._fault import Call, Fault
from ._own_count import own_count


def patch(original: Call, strength: float = 1.0) -> Call:
    """Count the micro-batch's own targets M R times."""
    return own_count(original, strength, lambda t: t.current_gradient_accumulation_steps * t.args.world_size)


FAULT = Fault(
    family="ranks",
    library="transformers>=5",
    seam="transformers.trainer:Trainer.training_step",
    source="https://github.com/pytorch/torchtitan/issues/1842",
    year=2025,
    mechanism="The loss is a mean in each micro-batch of each rank; emulated in the Trainer, reported of torchtitan.",
    effect="closed_forms.aggregation:per_rank_mean_of_micro_batch_means",
    quantity="weights",
    visible="ranks_trainer",
    patch=patch,
    dilutes="harmonic",
)
