"""Each rank averages over its own targets, and the ranks are averaged."""

from typing import Any
from unittest import mock

from .._fault import Call, Fault


def patch(original: Call) -> Call:
    """Run the epoch as if nobody had asked to average tokens across devices."""

    def _run_epoch(self: Any, *args: Any, **kwargs: Any) -> Any:
        with mock.patch.object(self.args, "average_tokens_across_devices", False):
            return original(self, *args, **kwargs)

    return _run_epoch


FAULT = Fault(
    family="ranks",
    library="transformers>=5",
    seam="transformers.trainer:Trainer._run_epoch",
    source="https://github.com/huggingface/transformers/issues/34242",
    year=2024,
    mechanism="Each rank divides by its own targets, so that targets on a rank with few of them weigh more.",
    effect="closed_forms.aggregation:per_rank_mean",
    quantity="weights",
    visible="ranks_trainer",
    patch=patch,
)
