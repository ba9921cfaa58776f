"""The last norm is trained on each rank by itself."""

from typing import Any

from .._fault import Call, Fault


def patch(original: Call) -> Call:
    """Leave the last parameter of one dimension out."""

    def _build_params_for_reducer(self: Any) -> Any:
        norms = [name for name, parameter in self.module.named_parameters() if parameter.dim() == 1]
        self.parameters_to_ignore.add(norms[-1])
        return original(self)

    return _build_params_for_reducer


FAULT = Fault(
    family="ranks",
    library="torch>=2",
    seam="torch.nn.parallel.distributed:DistributedDataParallel._build_params_for_reducer",
    source="https://github.com/EleutherAI/gpt-neox/pull/1259",
    year=2024,
    mechanism="Norms miss the all-reduce, and each rank trains its own; emulated in DDP, reported of gpt-neox.",
    effect="closed_forms.wrong_steps:own_of_rank",
    quantity="shares",
    visible="ranks_step",
    clean="closed_forms.wrong_steps:whole_sum",
    patch=patch,
)
