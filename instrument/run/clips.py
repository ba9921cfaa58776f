"""Hears to which norm a script clips: whether a clip is right, only its own limit can tell."""

from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch.nn.utils import clip_grad

PARTS = "_get_total_norm", "_clip_grads_with_norm_"


class HeardClip:
    """Stands around the two parts of torch's clip_grad_norm_, whatever the name by which a script calls it.

    Args:
        told: told(limit, parameters) is called for each clip by the norm of order 2, before it happens.
    """

    def __init__(self, told: Callable[[float, list[Any]], None]) -> None:
        self._told = told
        self._order = 2.0
        # Before torch 2.6 the function is in one piece, and nothing is heard.
        self._kept: dict[str, Any] = {name: getattr(clip_grad, name) for name in PARTS if hasattr(clip_grad, name)}

    def listen(self) -> None:
        """Hear each clip from now on."""
        if len(self._kept) == len(PARTS):
            clip_grad._get_total_norm = self._norm
            clip_grad._clip_grads_with_norm_ = self._clip

    def stop(self) -> None:
        """Put torch's own back."""
        for name, original in self._kept.items():
            setattr(clip_grad, name, original)

    def _norm(self, tensors: Any, norm_type: float = 2.0, *args: Any, **kwargs: Any) -> Any:
        self._order = float(norm_type)
        return self._kept["_get_total_norm"](tensors, norm_type, *args, **kwargs)

    def _clip(self, parameters: Iterable[Any] | Any, max_norm: float, *args: Any, **kwargs: Any) -> None:
        parameters = [parameters] if isinstance(parameters, torch.Tensor) else list(parameters)
        if self._order == 2:
            self._told(float(max_norm), parameters)
        self._kept["_clip_grads_with_norm_"](parameters, max_norm, *args, **kwargs)
