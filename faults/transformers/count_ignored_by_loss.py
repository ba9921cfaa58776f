"""A loss ignores the count that it is handed, and nobody divides by the number of micro-batches any more."""

from typing import Any

from .._fault import Call, Fault
from .._strength import mixed


def patch(original: Call, strength: float = 1.0) -> Call:
    """Take the mean of the micro-batch, count or not."""

    def fixed_cross_entropy(
        source: Any, target: Any, num_items_in_batch: Any = None, ignore_index: int = -100, **kwargs: Any
    ) -> Any:
        right = original(source, target, num_items_in_batch, ignore_index, **kwargs)
        return mixed(right, original(source, target, None, ignore_index, **kwargs), strength)

    return fixed_cross_entropy


FAULT = Fault(
    family="normalisation",
    library="transformers>=5",
    seam="transformers.loss.loss_utils:fixed_cross_entropy",
    source="https://github.com/huggingface/transformers/issues/47688",
    year=2026,
    mechanism="The loss takes the mean of its micro-batch while the Trainer trusts it to divide by the window's count.",
    effect="closed_forms.aggregation:sum_of_micro_batch_means",
    quantity="weights",
    visible="trainer_accumulation",
    patch=patch,
    dilutes="linear",
)
