"""Each backward throws away what the micro-batches before it had accumulated."""

from typing import Any

from .._fault import Call, Fault
from .._strength import mixed


def patch(original: Call, strength: float = 1.0) -> Call:
    """Empty the gradients before the last backward of a window, which is as good as before each."""

    def backward(self: Any, loss: Any, **kwargs: Any) -> None:
        for model in self._models if self.sync_gradients else []:
            for parameter in model.parameters():
                if parameter.grad is not None:
                    parameter.grad.mul_(mixed(1, 0, strength))
        original(self, loss, **kwargs)

    return backward


FAULT = Fault(
    family="normalisation",
    library="accelerate>=1",
    seam="accelerate.accelerator:Accelerator.backward",
    source="https://github.com/allenai/open-instruct/pull/1498",
    year=2026,
    mechanism="Each backward discards what was accumulated; emulated in accelerate, reported of ZeRO-2 in DeepSpeed.",
    effect="closed_forms.counted_samples:last_micro_batch_only",
    quantity="weights",
    visible="trainer_accumulation",
    patch=patch,
    dilutes="linear",
)
