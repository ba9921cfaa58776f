"""Each rank averages over its own targets, and the ranks are averaged."""

from .._fault import Call, Fault
from ._rank_count import rank_count


def patch(original: Call, strength: float = 1.0) -> Call:
    """Count what this rank holds, as often as there are ranks: the loss is multiplied by their number."""
    return rank_count(original, strength, times_ranks=True)


FAULT = Fault(
    family="ranks",
    library="transformers>=5",
    seam="transformers.trainer:Trainer._get_num_items_in_batch",
    source="https://github.com/huggingface/transformers/issues/34242",
    year=2024,
    mechanism="Each rank divides by its own targets, so that targets on a rank with few of them weigh more.",
    effect="closed_forms.aggregation:per_rank_mean",
    quantity="weights",
    visible="ranks_trainer",
    patch=patch,
    dilutes="harmonic",
)
