"""Which parts of a run an instrument touches. A right one touches none: with it the run is bitwise what it is without.

Parts are names, such as "parameters". Every form gives one row: 1 for a part that is not bitwise the same, else 0.
"""

from collections.abc import Sequence

import numpy as np

from ._window import Float

Parts = Sequence[str]


def nothing(parts: Parts) -> list[Float]:
    """Parts that a right instrument touches.

        d_p = 0

    Args:
        parts: [p] names of what is compared.

    Returns:
        One float64 array, [p].
    """
    return [np.zeros(len(parts))]


def only_random_state(parts: Parts) -> list[Float]:
    """Parts that an instrument touches which draws a random number: what is drawn later is another number.

        d_p = (p is "random state")

    Same argument and result as ``nothing``.

    Raises:
        ValueError: no part of that name.
    """
    return _only("random state", parts)


def only_parameters(parts: Parts) -> list[Float]:
    """Parts that an instrument touches which changes the gradient on its way.

        d_p = (p is "parameters")

    Same argument, result and errors as ``only_random_state``.
    """
    return _only("parameters", parts)


def what_is_drawn(parts: Parts) -> list[Float]:
    """Parts that an instrument touches which draws random numbers before a training with dropout, which draws them too.

        d_p = (p is "random state" or "parameters")

    Same argument, result and errors as ``only_random_state``.
    """
    return [only_random_state(parts)[0] + only_parameters(parts)[0]]


def only_hooks(parts: Parts) -> list[Float]:
    """Parts that an instrument touches which leaves a hook on the model.

        d_p = (p is "hooks")

    Same argument, result and errors as ``only_random_state``.
    """
    return _only("hooks", parts)


def only_modes(parts: Parts) -> list[Float]:
    """Parts that an instrument touches which leaves the model in another mode than it found it in.

        d_p = (p is "modes")

    Same argument, result and errors as ``only_random_state``.
    """
    return _only("modes", parts)


def _only(touched: str, parts: Parts) -> list[Float]:
    if touched not in parts:
        raise ValueError(f"parts={list(parts)} lacks {touched!r}: compare it too")
    return [np.array([part == touched for part in parts], dtype=np.float64)]
