"""The deviation of the rewards is divided by n."""

from typing import Any

from .._fault import Call, Fault
from .._strength import mixed


def patch(original: Call, strength: float = 1.0) -> Call:
    """Take Bessel's correction back."""

    def nanstd(tensor: Any, dim: Any = None, keepdim: bool = False) -> Any:
        known = (~tensor.isnan()).sum(dim=dim, keepdim=keepdim)
        return original(tensor, dim, keepdim) * mixed(1, ((known - 1) / known).sqrt(), strength)

    return nanstd


FAULT = Fault(
    family="policy",
    library="trl>=1.0",
    seam="trl.trainer.utils:nanstd",
    source="https://github.com/Tencent-Hunyuan/UniRL/pull/335",
    year=2026,
    mechanism="Two paths disagree whether to divide by n or n - 1, so advantages do by sqrt(n / (n - 1)); emulated.",
    effect="closed_forms.judged_rollouts:by_window_of_population",
    clean="closed_forms.completions:by_window",
    quantity="weights",
    visible="trl_grpo",
    patch=patch,
    dilutes="harmonic",
)
