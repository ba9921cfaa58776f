"""The last matrix that trains, where the last norm does not, as under LoRA: what a position contributes to it.

With y = W x the gradient is sum_n g_n x_n'. Added up is the sum of its rows with signs in turn, sum_n (s' g_n) x_n',
since the plain sum over a head's rows is 0: a softmax sums to 1.
"""

from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import Tensor, nn

from .shards import Layout, laid_out, part_of_gradient


class LastLinear:
    """Listens to one nn.Linear.

    Args:
        model: the last nn.Linear in it that trains is taken.
        take: take(values [i], their absolute values [i], terms) is called for each gradient that arrives.
        layouts: of the parameters that this rank holds a part of, by identity.
    """

    def __init__(
        self, model: nn.Module, take: Callable[[Tensor, Tensor, int], None], layouts: Mapping[int, Layout]
    ) -> None:
        found = [m for m in model.modules() if isinstance(m, nn.Linear) and m.weight.requires_grad]
        self.module: Any = found[-1] if found else None
        self._take, self._layouts = take, layouts
        self._hook: Any = None

    def attach(self, guard: Callable[..., None]) -> None:
        """Set the hook."""
        if self.module is not None:
            self._hook = self.module.register_forward_hook(lambda m, args, out: guard(self._arm, guard, args, out))

    def detach(self) -> None:
        """Take it off."""
        if self._hook is not None:
            self._hook.remove()

    def _arm(self, guard: Callable[..., None], args: tuple[Any, ...], output: Tensor) -> None:
        if torch.is_grad_enabled() and output.requires_grad and args:
            given = args[0].detach()
            output.register_hook(lambda gradient: guard(self._came, given, gradient.detach()))

    def _came(self, given: Tensor, gradient: Tensor) -> None:
        x_ni, g_no = given.flatten(0, -2).double(), gradient.flatten(0, -2)
        value_i = (g_no[:, ::2].sum(-1, dtype=torch.float64) - g_no[:, 1::2].sum(-1, dtype=torch.float64)) @ x_ni
        size_i = g_no.abs().sum(-1, dtype=torch.float64) @ x_ni.abs()
        self._take(value_i, size_i, x_ni.shape[0] + g_no.shape[1])

    def gradient(self) -> Tensor | None:
        """[i] sum of the rows of the matrix's gradient with signs in turn, in float64."""
        gradient = part_of_gradient(self.module.weight, self._layouts)
        if gradient is None:
            return None
        gradient = laid_out(gradient, self._layouts.get(id(self.module.weight)))
        return gradient[::2].sum(0, dtype=torch.float64) - gradient[1::2].sum(0, dtype=torch.float64)
