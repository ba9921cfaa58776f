"""The losses of all tokens are added and never divided."""

from typing import Any

from .._fault import Call, Fault
from .._strength import mixed


def patch(original: Call, strength: float = 1.0) -> Call:
    """Sum over the targets, count or not."""

    def fixed_cross_entropy(
        source: Any, target: Any, num_items_in_batch: Any = None, ignore_index: int = -100, **kwargs: Any
    ) -> Any:
        right = original(source, target, num_items_in_batch, ignore_index, **kwargs)
        return mixed(right, original(source, target, 1, ignore_index, **kwargs), strength)

    return fixed_cross_entropy


FAULT = Fault(
    family="normalisation",
    library="transformers>=5",
    seam="transformers.loss.loss_utils:fixed_cross_entropy",
    source="https://github.com/allenai/open-instruct/issues/995",
    year=2025,
    mechanism="The loss is the sum over the tokens, so a step grows with its batch; reported of open-instruct.",
    effect="closed_forms.aggregation:token_sum",
    quantity="weights",
    visible="trainer_accumulation",
    patch=patch,
    dilutes="linear",
)
