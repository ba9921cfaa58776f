"""Reads log-probabilities, masks and options of a loss, and refuses what no loss can be computed from.

Axes: b = row of the micro-batch, t = position of the completion, padded to the longest row.
"""

from collections.abc import Sequence
from typing import TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ._window import Float

Mask = NDArray[np.bool_]
Choice = TypeVar("Choice")


def read_mask(mask: ArrayLike, name: str = "mask") -> Mask:
    """Turn [b][t] marks, 1 where a token is scored, into a boolean array.

    Raises:
        ValueError: it is not a rectangle of rows, or holds anything but 0 and 1.
    """
    # dtype=object accepts ragged input, so that the error can name it
    marks = np.asarray(mask, dtype=object)
    if marks.ndim != 2 or not all(mark in (0, 1) for mark in marks.flat):
        raise ValueError(f"{name} holds 0 or 1 for each [row, position], got {mask!r}: pad the rows with 0")
    return marks.astype(np.bool_)


def read_scored(mask: ArrayLike, name: str = "mask") -> Mask:
    """Read a mask as ``read_mask`` does, of which every row scores a token.

    Raises:
        ValueError: as ``read_mask``; there is no row, or a row without a scored token.
    """
    mask_bt = read_mask(mask, name)
    n_b = mask_bt.sum(1)
    if n_b.size == 0 or not n_b.all():
        raise ValueError(f"every row of {name} needs a scored token, got {n_b.tolist()} per row: leave empty rows out")
    return mask_bt


def read_tokens(values: ArrayLike, mask_bt: Mask, name: str) -> Float:
    """Turn [b][t] numbers into an array that is 0 where the mask scores nothing; what stood there is not looked at.

    Raises:
        ValueError: the shape is not the mask's, or a scored number is infinite or missing.
    """
    numbers = read_numbers(values, mask_bt.shape, name, finite=False)
    bad = numbers[mask_bt & ~np.isfinite(numbers)]
    if bad.size:
        raise ValueError(f"{name} must be finite where the mask scores, got {bad[0]}: mask such tokens")
    return np.where(mask_bt, numbers, 0.0)


def read_numbers(values: ArrayLike, shape: tuple[int, ...], name: str, finite: bool = True) -> Float:
    """Turn numbers into a float64 array of a known shape.

    Raises:
        ValueError: another shape, something else than numbers, or, unless allowed, an infinite or missing one.
    """
    try:
        numbers = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name} must be numbers of shape {list(shape)}, got {values!r}: pad the rows") from error
    if numbers.shape != shape:
        raise ValueError(f"{name} must have shape {list(shape)}, got {list(numbers.shape)}: one number for each")
    if finite and not np.isfinite(numbers).all():
        raise ValueError(f"{name} must be finite, got {numbers[~np.isfinite(numbers)][0]}: leave such rows out")
    return numbers


def shape_of(values: ArrayLike) -> tuple[int, ...]:
    """Shape of numbers that may be ragged, in which case only the outer lengths count."""
    return np.shape(np.asarray(values, dtype=object))


def read_pair(chosen: ArrayLike, rejected: ArrayLike, names: tuple[str, str]) -> tuple[Float, Float]:
    """Turn the numbers of P chosen and P rejected completions into two [p] arrays.

    Raises:
        ValueError: no pair, two lengths, or a number that is not finite.
    """
    pairs = shape_of(chosen)
    if len(pairs) != 1 or pairs == (0,):
        raise ValueError(f"{names[0]} must hold one number per pair, got {chosen!r}: give a list with at least one")
    return read_numbers(chosen, pairs, names[0]), read_numbers(rejected, pairs, names[1])


def read_finite(values: ArrayLike, name: str) -> Float:
    """Turn numbers of any shape into a float64 array.

    Raises:
        ValueError: something else than numbers, or one that is infinite or missing.
    """
    return read_numbers(values, np.shape(values), name)


def positive(value: float, name: str) -> float:
    """Refuse an option that is not above 0, or infinite.

    Raises:
        ValueError: it is not.
    """
    if not 0 < value < np.inf:
        raise ValueError(f"{name} must be positive and finite, got {name}={value}")
    return float(value)


def between(low: float, value: float, high: float, name: str) -> float:
    """Refuse an option outside an interval, whose ends belong to it.

    Raises:
        ValueError: it is outside.
    """
    if not low <= value <= high:
        raise ValueError(f"{name} must be one of {low} to {high}, got {name}={value}")
    return float(value)


def one_of(choices: Sequence[Choice], value: Choice, name: str) -> Choice:
    """Refuse a name that is not among the choices.

    Raises:
        ValueError: it is not.
    """
    if value not in choices:
        raise ValueError(f"no {name}={value!r}: give one of {', '.join(map(str, choices))}")
    return value
