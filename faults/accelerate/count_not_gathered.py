"""Each rank divides by its own count, and multiplies by the number of ranks as if it were that of all."""

from typing import Any

from .._fault import Call, Fault


def patch(original: Call) -> Call:
    """Hand back what this rank holds."""

    def gather(self: Any, tensor: Any) -> Any:
        return tensor

    return gather


FAULT = Fault(
    family="ranks",
    library="accelerate>=1",
    seam="accelerate.accelerator:Accelerator.gather",
    source="https://github.com/huggingface/transformers/issues/34373",
    year=2024,
    mechanism="The count of targets stays local while the loss is scaled for the count of all ranks.",
    effect="closed_forms.ranks:sum_of_rank_means",
    quantity="weights",
    visible="ranks_trainer",
    patch=patch,
)
