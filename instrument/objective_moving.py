"""What a reference that follows its policy is in each window, by the closed forms."""

from collections.abc import Callable, Sequence
from typing import Any

import torch

from closed_forms import moving_reference

from .record import Floats

Parameters = dict[str, torch.Tensor]


def synchronized(alpha: float, every: int) -> Callable[[list[Parameters], Parameters], list[Parameters]]:
    """sync_ref_model, with ref_model_mixup_alpha and ref_model_sync_steps."""
    return each(lambda policy, first: moving_reference.synchronized(policy, first, alpha, every))


def bias_corrected(**options: Any) -> Callable[[list[Parameters], Parameters], list[Parameters]]:
    """BEMACallback, which keeps its average in float32; options: of ``moving_reference.bias_corrected``."""

    def form(policy: Sequence[Floats], first: Floats) -> list[Floats]:
        found = moving_reference.bias_corrected(policy, first, **options)
        # The reference's own parameters are those that came before the first average.
        return [r if (r == first).all() else r.astype("float32").astype("float64") for r in found]

    return each(form)


def each(
    form: Callable[[Sequence[Floats], Floats], list[Floats]],
) -> Callable[[list[Parameters], Parameters], list[Parameters]]:
    """A form of arrays, for each of the parameters."""

    def moves(policy: list[Parameters], first: Parameters) -> list[Parameters]:
        found = {
            name: form([window[name].double().numpy() for window in policy], start.double().numpy())
            for name, start in first.items()
        }
        return [
            {name: torch.as_tensor(values[w]).to(first[name].dtype) for name, values in found.items()}
            for w in range(len(policy))
        ]

    return moves
