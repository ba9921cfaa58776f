"""The last norm of a model: which module it is, and what of its gradient a position contributes."""

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor, nn

from .capture import Replay
from .norms import own_part
from .shards import Layout, laid_out, part_of_gradient


class LastNorm:
    """Finds the module whose output is the final hidden states, and its shape: out = (weight + shift) x + bias.

    Attributes:
        module: None until it is found.
        shift: 0, or 1 as in Gemma.
        why: why nothing can be read of it; empty while it can, or before it is found.
    """

    def __init__(self, model: nn.Module, layouts: Mapping[int, Layout]) -> None:
        self._model, self._layouts = model, layouts
        self.module: Any = None
        self.shift = 0.0
        self.why = "no norm with a weight gives the final hidden states"
        self._last: dict[int, tuple[nn.Module, int]] = {}
        self._hooks: list[Any] = []

    def attach(self) -> None:
        """Note the output of every module that may be it, up to the first forward."""
        for module in self._model.modules():
            weight = module._parameters.get("weight")
            if weight is not None and weight.dim() == 1 and not list(module.children()):
                self._hooks.append(module.register_forward_hook(self._note))

    def detach(self) -> None:
        """Take the hooks off."""
        for hook in self._hooks:
            hook.remove()
        self._hooks.clear()

    def _note(self, module: nn.Module, args: Any, output: Any) -> None:
        self._last.pop(id(module), None)
        self._last[id(module)] = (module, id(output))

    def find(self, hidden: Tensor) -> None:
        """Look for it among what has just run; `hidden` is still alive, so no other living tensor has its number."""
        if self._hooks:
            self.detach()
            # GPT-2 gives back another view of what its norm returned.
            same = (id(hidden), id(hidden._base))
            ran = [module for module, number in self._last.values() if number in same]
            self._last = {}
            if ran:
                self.module = ran[-1]
                self.why = self._recognise(hidden.detach())

    def _recognise(self, hidden: Tensor) -> str:
        drawn = torch.randn(1, 4, hidden.shape[-1], generator=torch.Generator().manual_seed(0)).to(hidden)
        weight, bias = self.module.weight.detach(), getattr(self.module, "bias", None)
        if hasattr(weight, "placements") or weight.shape != hidden.shape[-1:]:
            return f"{type(self.module).__name__} is sharded by itself"
        bias = torch.zeros_like(weight) if bias is None else bias.detach()
        with torch.no_grad(), Replay(), torch.autocast(hidden.device.type, enabled=False):
            own, ones, zeros = (self._run(drawn.to(weight.dtype), w) for w in (weight, weight * 0 + 1, weight * 0))
        normed = ones - zeros
        for shift in (0.0, 1.0):
            if close(zeros, shift * normed + bias) and close(own, (weight + shift) * normed + bias):
                self.shift = shift
                return ""
        return f"{type(self.module).__name__} is not a weight times a normed input"

    def _run(self, drawn: Tensor, weight: Tensor) -> Tensor:
        # A copy without hooks, whose forward sees other numbers in place of the weight.
        # Without __new__, since that of fully_shard builds anew.
        twin: Any = object.__new__(type(self.module))
        twin.__dict__ = {**self.module.__dict__, "_parameters": {**self.module._parameters, "weight": weight}}
        # FSDP1 lays the gathered one over it.
        twin.__dict__.pop("weight", None)
        return type(self.module).forward(twin, drawn)

    def share(self, total_h: Tensor, size_h: Tensor, gradient_nh: Tensor) -> tuple[Tensor, Tensor]:
        """[h] sum over positions of the weight's gradient, and of its absolute values, in float64.

        d weight = sum_n g_n x_n with x = (out - bias) / (weight + shift)

        Args:
            total_h, size_h: sum over positions of g_n out_n, and of its absolute values, in float64.
            gradient_nh: g, of the output.
        """
        weight_h = self.module.weight.detach().to(total_h.device) + self.shift
        bias = getattr(self.module, "bias", None)
        if bias is not None:
            bias_h = bias.detach().double().to(total_h.device)
            total_h = total_h - bias_h * gradient_nh.sum(0, dtype=torch.float64)
            size_h = size_h + bias_h.abs() * gradient_nh.abs().sum(0, dtype=torch.float64)
        scale_h = torch.where(weight_h == 0, float("inf"), weight_h.double())
        return total_h / scale_h, size_h / scale_h.abs()

    def gradient(self) -> Tensor | None:
        """[h] a copy of what the weight's gradient is now, in float64; 0 where nothing is known or held."""
        gradient = part_of_gradient(self.module.weight, self._layouts)
        if gradient is None:
            return None
        known = own_part(self.module.weight.detach()) + self.shift != 0
        return laid_out(gradient.double() * known, self._layouts.get(id(self.module.weight)))


def close(a: Tensor, b: Tensor) -> bool:
    """Equal but for a few roundings."""
    return bool((a - b).abs().max() <= 64 * torch.finfo(a.dtype).eps * b.abs().max().clamp(min=1))
