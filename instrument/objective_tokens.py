"""What a student that learns at the sampled tokens alone should be pulled by, and what it was, in units of that.

The loss pulls at log p of each sampled token with a constant in front, as a policy gradient does: the unit is the push
of that constant, w (onehot - p) / T on the logits. Its entries err, in sum over the words, by

    2 e + 2 |w| one u,   one = 6 M + V/4 + 3 log V + 6,   e: how far w itself may be off

with M the largest |logit| of either model over the temperature; a difference of two log-probabilities is off by
2 one u.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from closed_forms import distillation, rounding

from .objective_distilled import projected
from .record import Bools, Floats


@dataclass(frozen=True)
class Sampled:
    """The constant in front of each log p.

    Attributes:
        gamma: iw_opd_gamma of IW-OPD, in which early tokens count more; None for the plain reverse KL of SDFT and SDPO.
        tiny: iw_opd_epsilon.
    """

    gamma: float | None = None
    tiny: float = 1e-8


class Constants(NamedTuple):
    """[b, t] the constant w of each token, and how far rounding may put it; 0 where nothing is scored."""

    weight: Floats
    error: Floats


def constants(student: Floats, teacher: Floats, mask: Bools, one: Floats, sampled: Sampled) -> Constants:
    """The constants of a micro-batch.

    Args:
        student, teacher: [b, t] log p and log q of the sampled tokens; mask: [b, t] which of them are scored.
        one: [b, t] how far one of them may be off, absolute.
    """
    student, teacher, off = (np.where(mask, values, 0.0) for values in (student, teacher, 2 * one))
    if sampled.gamma is None:
        return Constants(distillation.sampled_token(student, teacher, student, mask), off)
    whole = np.maximum(np.abs(teacher - student).sum(1, keepdims=True), sampled.tiny)
    moved = 2 * sampled.gamma * np.abs(teacher - student) * off.sum(1, keepdims=True) / whole
    weight = distillation.iw_opd(teacher, student, mask, sampled.gamma, sampled.tiny)
    return Constants(weight, (1 + sampled.gamma) * off + moved)


def one_off(largest: Floats, vocabulary: int) -> Floats:
    """How far a log-probability in float32 may be off; largest: |logit| of the models over the temperature."""
    spread = np.log(vocabulary)
    return np.asarray(rounding.unit_roundoff("float32") * (6 * largest + vocabulary / 4 + 3 * spread + 6))


class Pulled(NamedTuple):
    """[n] weight and remainder as in ``objective_distilled.Share``, and their relative error; nan from a tenth on."""

    weight: Floats
    remainder: Floats
    error: Floats


def pulled(
    pull: Floats,
    student: Floats,
    said: NDArray[np.int64],
    head: Floats,
    told: Constants,
    one: Floats,
    temperature: float,
) -> Pulled:
    """What [n, h] pulls are in units of the push of the constants [n]; student: [n, v] logits, head: [v, h]."""
    z = student / temperature
    unit = -np.exp(z - np.logaddexp.reduce(z, axis=1, keepdims=True))
    unit[np.arange(said.size), said] += 1
    unit *= told.weight[:, None] / temperature
    weight, rest, column = projected(pull, unit, head, temperature)
    error = column * (2 * told.error + 2 * np.abs(told.weight) * one) + 240 * rounding.unit_roundoff("float32")
    return Pulled(weight, rest, np.where(error < 0.1, error, np.nan))


def apart(found: Pulled, mask: Bools) -> bool:
    """Whether a scored token's gradient is not that of the loss, by what the weight leaves of it."""
    bound = np.where(found.weight == 0, 0.0, np.abs(found.weight) * found.error)
    return bool((mask & (found.remainder > bound)).any())


def as_amplification(error: Floats, vocabulary: int) -> Floats:
    """What stands for Row.amplification, so that ``rounding.weight_tolerance`` gives the error."""
    return np.asarray(error / rounding.weight_tolerance(vocabulary, "float32", "float32", 1.0))
