"""The Trainer averages micro-batch means instead of all tokens: the accumulation bug of October 2024."""

from typing import Any

from .._fault import Call, Fault


def patch(original: Call) -> Call:
    """Never count the targets of the window."""

    def _get_num_items_in_batch(self: Any, batch_samples: Any, device: Any) -> None:
        return None

    return _get_num_items_in_batch


FAULT = Fault(
    family="normalisation",
    library="transformers>=5",
    seam="transformers.trainer:Trainer._get_num_items_in_batch",
    source="https://github.com/huggingface/transformers/pull/34191",
    year=2024,
    mechanism="No count of the window's targets reaches the loss, so each micro-batch is divided by its own.",
    effect="closed_forms.aggregation:mean_of_micro_batch_means",
    quantity="weights",
    visible="trainer_accumulation",
    patch=patch,
)
