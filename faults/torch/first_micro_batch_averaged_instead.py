"""Gradients are averaged in each micro-batch but the last, which is the one that needs it."""

from typing import Any

from .._fault import Call, Fault


def patch(original: Call) -> Call:
    """Run the forward with the averaging on where it should be off, and off where it should be on."""

    def forward(self: Any, *inputs: Any, **kwargs: Any) -> Any:
        kept = self.require_backward_grad_sync
        self.require_backward_grad_sync = not kept
        try:
            return original(self, *inputs, **kwargs)
        finally:
            self.require_backward_grad_sync = kept

    return forward


FAULT = Fault(
    family="ranks",
    library="torch>=2",
    seam="torch.nn.parallel.distributed:DistributedDataParallel.forward",
    source="https://github.com/modelscope/FunASR/pull/3472",
    year=2026,
    mechanism="The wrong micro-batch of a window is averaged, so that the last one's gradient stays local.",
    effect="closed_forms.ranks:last_micro_batch_not_averaged",
    quantity="weights",
    visible="ranks_trainer",
    patch=patch,
)
