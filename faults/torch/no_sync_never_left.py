"""After the first micro-batch without it, gradients are averaged no more."""

from collections.abc import Iterator
from typing import Any

from .._fault import Call, Fault


def patch(original: Call) -> Call:
    """Leave the averaging off at the end of the block."""

    def no_sync(self: Any) -> Iterator[None]:
        self.require_backward_grad_sync = False
        yield

    return no_sync


FAULT = Fault(
    family="ranks",
    library="torch>=2",
    seam="torch.nn.parallel.distributed:DistributedDataParallel.no_sync",
    source="https://github.com/speechbrain/speechbrain/pull/2010",
    year=2023,
    mechanism="What suspends the averaging does not restore it, so the last micro-batch is not averaged either.",
    effect="closed_forms.ranks:times_ranks",
    quantity="weights",
    visible="ranks_trainer",
    patch=patch,
)
