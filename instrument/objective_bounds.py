"""How far a measured weight of an objective may lie from its closed form for rounding alone.

TRL's fused head rounds to float32, with unit roundoff u, whatever the model's dtype. Three things err.

Reading. As for any live reading, ``rounding.weight_tolerance``, and the logits are rounded before the softmax: an error
of u M each, M the largest |logit|, moves sum_v |p_v - onehot_v| by at most 2 M u and the weight by a_t times that, once
through the logits and once through their log-sum-exp: 4 a_t M u.

Log-probabilities. l = z_y - max z - log S is computed from rounded logits: z_y errs by u M, the maximum and the
log-sum-exp by u M each, the shifts z_v - max z by 2 u M, the exponentials by 2 u, the sum by (V/4 + 3) u, the logarithm
and the last two differences by u (3 log V + |l| + M). A loss adds up the l of a completion of T tokens and subtracts
those of another model, which rounds each partial sum: (T + 8) u |l|. So

    e = u (6 M + V/4 + 3 log V + 6 + (T + 9) |l|)

What this does to a weight is the closed form's own answer: to first order, the sum over all its arguments x_j of the
larger of |F(x + e_j) - F(x)| and |F(x - e_j) - F(x)|. At a kink, such as a clip, that is the whole jump: which side the
trainer is on cannot be told.

Arithmetic. From the log-probabilities to the weight and back lie no more than 60 roundings of u, or of 2 u for an
exponential or a logarithm, in either direction: 240 u times the addends of which the weight is the sum.

Where nothing is added up and no argument matters, the weight must be exactly 0.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from closed_forms import rounding

from .record import Bools, Floats

Form = Callable[[dict[str, Floats]], tuple[Floats, Floats]]


class Expected(NamedTuple):
    """What a closed form says of a micro-batch, [b, t] each.

    Attributes:
        weight: the weight of each token.
        allowed: how far the measured one may be off; nan where a tenth of it or more is rounding.
    """

    weight: Floats
    allowed: Floats


def log_p_error(largest: Floats, log_p: Floats, mask: Bools, vocabulary: int) -> Floats:
    """e of the scored tokens, 0 elsewhere; derived above."""
    size = 6 * largest + vocabulary / 4 + 3 * np.log(vocabulary) + 6 + (mask.sum(1, keepdims=True) + 9) * np.abs(log_p)
    return np.where(mask, rounding.unit_roundoff("float32") * size, 0.0)


def concentration_error(largest: Floats, mask: Bools, vocabulary: int) -> Floats:
    """How far log sum_v pi(v)^2 of the scored tokens may be off, 0 elsewhere.

        u (16 M + 3 V/4 + 6 log V + 20)

    A kernel takes log sum_v e^(2 s_v) - 2 log S of the shifted logits s: each 2 s_v errs by 8 u M with the logits it
    comes from, the exponentials by 2 u, either sum by (V/4 + 3) u, of which the second counts twice, and the logarithms
    and the difference by u (3 log V + M) each.
    """
    size = 16 * largest + 3 * vocabulary / 4 + 6 * np.log(vocabulary) + 20
    return np.where(mask, rounding.unit_roundoff("float32") * size, 0.0)


def sensitivity(form: Form, values: dict[str, Floats], errors: dict[str, Floats]) -> Floats:
    """sum_j max |F(x +- e_j) - F(x)| over all arguments that err."""
    centre, _ = form(values)
    total = np.zeros_like(centre)
    for name, error in errors.items():
        for place in zip(*np.nonzero(error)):
            moved = []
            for sign in (1, -1):
                shifted = values[name].copy()
                shifted[place] += sign * error[place]
                moved.append(np.abs(form({**values, name: shifted})[0] - centre))
            total += np.maximum(*moved)
    return total


def expected(
    form: Form,
    values: dict[str, Floats],
    errors: dict[str, Floats],
    vocabulary: int,
    amplification: Floats,
    largest: Floats,
) -> Expected:
    """Evaluate a closed form and say how far a measurement may be off.

    Args:
        form: from arguments to [b, t] weights and [b, t] sums of the absolute values of what they are sums of.
        values: its arguments; errors: how far each may be off, by name; an argument without errors is exact.
        vocabulary: V; amplification: [b, t] a of the reading; largest: [b, t] M.
    """
    weight, addends = form(values)
    u = rounding.unit_roundoff("float32")
    reading = np.zeros_like(weight)
    seen = amplification > 0
    reading[seen] = rounding.weight_tolerance(vocabulary, "float32", "float32", amplification[seen])
    reading += 4 * amplification * largest * u
    return Expected(weight, with_arithmetic(reading * np.abs(weight) + sensitivity(form, values, errors), addends))


def with_arithmetic(allowed: Floats, addends: Floats) -> Floats:
    """Bounds with the roundings of the arithmetic added; nan where a tenth of the addends or more is rounding.

    What is smaller than float32's smallest normal number may become 0 on the way, as a policy's weight far off its data
    does; nothing that is added up of zeros may.
    """
    allowed = allowed + 240 * rounding.unit_roundoff("float32") * np.abs(addends)
    hidden = allowed > 0.1 * np.abs(addends)
    return np.where(hidden, np.nan, allowed + np.where(addends == 0, 0.0, np.finfo(np.float32).tiny))
