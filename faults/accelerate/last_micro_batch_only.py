"""Each backward throws away what the micro-batches before it had accumulated."""

from typing import Any

from .._fault import Call, Fault


def patch(original: Call) -> Call:
    """Empty the gradients before each backward."""

    def backward(self: Any, loss: Any, **kwargs: Any) -> None:
        for model in self._models:
            model.zero_grad()
        original(self, loss, **kwargs)

    return backward


FAULT = Fault(
    family="normalisation",
    library="accelerate>=1",
    seam="accelerate.accelerator:Accelerator.backward",
    source="https://github.com/allenai/open-instruct/pull/1498",
    year=2026,
    mechanism="Each backward discards what was accumulated; emulated in accelerate, reported of ZeRO-2 in DeepSpeed.",
    effect="closed_forms.aggregation:last_micro_batch_only",
    quantity="weights",
    visible="trainer_accumulation",
    patch=patch,
)
