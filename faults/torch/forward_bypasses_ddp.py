"""The model inside the wrapper runs, so that backward averages nothing."""

from typing import Any

from .._fault import Call, Fault


def patch(original: Call) -> Call:
    """Call the wrapped module itself."""

    def forward(self: Any, *inputs: Any, **kwargs: Any) -> Any:
        return self.module(*inputs, **kwargs)

    return forward


FAULT = Fault(
    family="ranks",
    library="torch>=2",
    seam="torch.nn.parallel.distributed:DistributedDataParallel.forward",
    source="https://github.com/jingyaogong/minimind/issues/853",
    year=2026,
    mechanism="The forward goes past the wrapper, so that no rank hears of the others' gradients.",
    effect="closed_forms.ranks:times_ranks",
    quantity="weights",
    visible="ranks_trainer",
    patch=patch,
)
