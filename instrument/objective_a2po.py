"""What A*-PO gives every token of a driven run, by the closed forms."""

from collections.abc import Sequence

import numpy as np

from closed_forms import advantages, reference_free, rounding

from .objective_bounds import Expected, Form
from .objective_policy import of_models
from .objective_record import Driven, Scored
from .record import Floats


def of_a2po(
    driven: Driven, rewards: Sequence[float], values: Sequence[Sequence[float]], beta1: float, beta2: float
) -> list[list[Expected]]:
    """[window][micro-batch] what the tokens of each completion weigh.

    Args:
        rewards: [number] of the completions; values: [number][i] of the samples of their prompts.
        beta1, beta2: as in A2POConfig.
    """
    r_n = np.asarray(rewards, np.float64)
    a_n = r_n - advantages.optimal_value(values, beta1)
    e_n = advantage_error(r_n, np.asarray(values, np.float64), beta1)
    return [
        [
            of_models(
                regressed_form(batch, beta2, len(window)),
                batch,
                a_n[batch.numbers, None],
                e_n[batch.numbers, None],
                driven.record.vocabulary,
            )
            for batch in window
        ]
        for window in driven.windows
    ]


def regressed_form(batch: Scored, beta2: float, k: int) -> Form:
    """One micro-batch of K."""

    def form(values: dict[str, Floats]) -> tuple[Floats, Floats]:
        u = ((values["policy"] - values["reference"]) * batch.mask).sum(1)
        a = values["advantage"][:, 0]
        weight = reference_free.a2po(u, a, beta2)[:, None] * batch.mask / k
        size = 2 * beta2 * (np.abs(a) + beta2 * np.abs(u)) / len(u)
        return weight, size[:, None] * batch.mask / k

    return form


def advantage_error(reward: Floats, values: Floats, beta1: float) -> Floats:
    """[n] how far TRL's float32 advantages may be off.

        u (beta (n + 8) + 8 max|r|)

    The sum of n exponentials of numbers of at most 0, its logarithm and log n err by (n + 8) u in all; each of the six
    roundings of rewards, of what is divided by beta and multiplied again, by u max|r|, and so does each of the two
    differences.
    """
    largest = np.maximum(np.abs(values).max(1), np.abs(reward))
    return np.asarray(rounding.unit_roundoff("float32") * (beta1 * (values.shape[1] + 8) + 8 * largest))
