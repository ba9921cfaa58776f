"""Each rank divides by its own count, and multiplies by the number of ranks as if it were that of all."""

from .._fault import Call, Fault
from ._rank_count import rank_count


def patch(original: Call, strength: float = 1.0) -> Call:
    """Count what this rank holds."""
    return rank_count(original, strength, times_ranks=False)


FAULT = Fault(
    family="ranks",
    library="transformers>=5",
    seam="transformers.trainer:Trainer._get_num_items_in_batch",
    source="https://github.com/huggingface/transformers/issues/34373",
    year=2024,
    mechanism="The count of targets stays local while the loss is scaled for the count of all ranks.",
    effect="closed_forms.ranks:sum_of_rank_means",
    quantity="weights",
    visible="ranks_trainer",
    patch=patch,
    dilutes="harmonic",
)
