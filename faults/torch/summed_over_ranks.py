"""Gradients are added up over the ranks where their mean is due."""

import sys
from typing import Any

from .._fault import Call, Fault


def patch(original: Call) -> Call:
    """Hand over a hook that adds up and does not divide."""

    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:
        original(self, *args, **kwargs)
        dist = sys.modules["torch.distributed"]

        def first(future: Any) -> Any:
            return future.value()[0]

        # Without annotations, which DDP reads.
        self.register_comm_hook(
            None, lambda state, bucket: dist.all_reduce(bucket.buffer(), async_op=True).get_future().then(first)
        )

    return __init__


FAULT = Fault(
    family="ranks",
    library="torch>=2",
    seam="torch.nn.parallel.distributed:DistributedDataParallel.__init__",
    source="https://github.com/tensorflow/benchmarks/issues/466",
    year=2020,
    mechanism="The all-reduce adds up and nobody divides; emulated in DDP, reported of TensorFlow's benchmarks.",
    effect="closed_forms.wrong_steps:summed_over_ranks",
    quantity="shares",
    visible="ranks_step",
    clean="closed_forms.wrong_steps:whole_sum",
    patch=patch,
)
