"""The number of 8 significant bits nearest to a number."""

import numpy as np
from numpy.typing import ArrayLike

from ._window import Float


def bfloat16(values: ArrayLike) -> Float:
    """Round to bfloat16, halves to even.

        m 2^e with 2^7 <= |m| < 2^8 whole, nearest to the float32 nearest to the value

    Args:
        values: any shape, finite and in bfloat16's range of normal numbers, or 0.

    Returns:
        The shape of the values, in float64.
    """
    mantissa, exponent = np.frexp(np.asarray(values, dtype=np.float32).astype(np.float64))
    return np.asarray(np.ldexp(np.rint(mantissa * 2**8), exponent - 8))
