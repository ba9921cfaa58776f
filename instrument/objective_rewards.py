"""What each reward of a driven reward model weighs, by the closed form."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from closed_forms import reward, rounding

from .objective_bounds import Expected, Form, sensitivity, with_arithmetic
from .objective_record import Rewarded
from .record import Floats


def of_rewards(
    windows: list[list[Rewarded]], margins: Sequence[float] | None = None, centre: float = 0.0
) -> list[list[Expected]]:
    """[window][micro-batch] what the reward weighs at each place; margins by pair.

    The model and its loss are float64 all through, so float32's roundoff, 2^29 times that, is a bound with room: a
    reward is taken to err by (1 + |r|) of it.
    """
    return [
        [
            of_batch(batch, 0.0 if margins is None else [margins[n // 2] for n in batch.numbers], centre, len(window))
            for batch in window
        ]
        for window in windows
    ]


def of_batch(batch: Rewarded, margin: float | list[float], centre: float, k: int) -> Expected:
    """One micro-batch of K; the margins of all its rows, or one."""
    u, pairs = rounding.unit_roundoff("float32"), len(batch.numbers) // 2
    apart = margin[:pairs] if isinstance(margin, list) else margin
    form = form_of_rewards(batch.weight.shape, batch.last, apart, centre, k)
    values, errors = {"reward": batch.reward}, {"reward": u * (1 + np.abs(batch.reward))}
    weight, addends = form(values)
    return Expected(weight, with_arithmetic(sensitivity(form, values, errors), addends))


def form_of_rewards(shape: tuple[int, ...], last: NDArray[np.int64], margin: ArrayLike, centre: float, k: int) -> Form:
    """The closed form of ``of_batch``; shape: of its rows; last: [b] place of the reward; margin: [p], or one."""
    pairs = shape[0] // 2
    at = np.arange(shape[0]), last

    def form(values: dict[str, Floats]) -> tuple[Floats, Floats]:
        r = values["reward"]
        weight, addends = np.zeros(shape), np.zeros(shape)
        weight[at] = np.concatenate(reward.bradley_terry(r[:pairs], r[pairs:], margin, centre)) / k
        addends[at] = (1 + 4 * centre * np.abs(r).max()) / pairs / k
        return weight, addends

    return form
