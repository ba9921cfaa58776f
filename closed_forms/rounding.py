"""How far a measured weight may be from the true one for rounding alone.

V vocabulary, z logits, p = softmax(z), y target, d = p - onehot(y), J_v = column v of d hidden / d logits, u unit
roundoff. A weight w is read as <g, r> / |r|^2 from the unit gradient r = sum_v d_v J_v and the gradient g = w r, so
its relative error is at most the relative error of g plus that of r, to first order in u. Each of the two carries:

Softmax in u_loss. With s = z - max z, L = log sum exp(s) and p = exp(s - L), -log p_v = |s_v| + L. Rounded are s_v
(|s_v| u), exp(s_v) (2 u, one ulp), the sum of V positive terms, log (2 L u), s_v - L (|log p_v| u) and the last exp
(2 u). The sum errs by one u per addition in a row, whatever the order (Higham, Accuracy and Stability of Numerical
Algorithms, 2nd ed., section 4.2); with four partial sums or more, which 256-bit vectors of float64 give, by
(V/4 + 3) u. Weighted by p_v, with the entropy H = sum_v p_v |log p_v| <= log V, all this adds up to

    sum_v |error of p_v| <= (3 H + V/4 + 7) u <= (3 log V + V/4 + 7) u

Subtracting the 1, scaling by 1/N and rounding that 1/N add 3 u sum_v |d_v| <= 6 u.

Head in u_work. Each entry of sum_v d_v J_v is an inner product with V roundings in a row. Taken as independent with
mean zero they err, projected on r, by at most lam sqrt(V) u sum_v |d_v| |J_v| <= 2 lam sqrt(V) u max_v |J_v| with
probability 1 - 2 exp(-lam^2 / 2), that is 0.9993 for lam = 4: https://epubs.siam.org/doi/10.1137/18M1226312 (Higham
and Mary 2019), https://arxiv.org/abs/1906.10465 (Ipsen and Zhou 2020, by Azuma's inequality). The softmax sum does not
get sqrt(V): one large term makes the rounding of all later ones go the same way.

Not in the bound: logits that differ between the run and the reading; a projection below float64; a log-sum-exp that
contains max z (https://github.com/ml-explore/mlx/pull/4169).
"""

import numpy as np
from numpy.typing import ArrayLike

from ._window import Float


def unit_roundoff(dtype: str) -> float:
    """Largest relative error of rounding a number to a floating-point type.

        u = 2^-p for p significant bits

    Significant bits as in IEEE 754 (https://doi.org/10.1109/IEEESTD.2019.8766229), and 8 for bfloat16.

    Args:
        dtype: its name, such as "float32".

    Raises:
        ValueError: no such type is known.
    """
    bits = {"float64": 53, "float32": 24, "float16": 11, "bfloat16": 8}
    if dtype not in bits:
        raise ValueError(f"no unit roundoff for dtype={dtype!r}: give one of {', '.join(bits)}")
    return 2.0 ** -bits[dtype]


def smallest(dtype: str) -> float:
    """Smallest positive number of a floating-point type, which bounds the error of a rounding to almost nothing.

        |error| <= max(u |x|, s / 2)

    Subnormal numbers as in IEEE 754 (https://doi.org/10.1109/IEEESTD.2019.8766229); bfloat16 has float32's exponents.

    Args:
        dtype: its name, such as "float32".

    Raises:
        ValueError: no such type is known.
    """
    power = {"float64": 1074, "float32": 149, "float16": 24, "bfloat16": 133}
    if dtype not in power:
        raise ValueError(f"no smallest number for dtype={dtype!r}: give one of {', '.join(power)}")
    return 2.0 ** -power[dtype]


def weight_tolerance(
    vocab: int, loss_dtype: str, work_dtype: str, amplification: ArrayLike, accumulated: int = 1
) -> Float:
    """Largest relative error of a measured weight that rounding explains.

        tol_t = 2 a_t ((3 log V + V/4 + 13) u_loss + lam (2 sqrt(V) + sqrt(K)) u_work),  lam = 4

    Derived at the top of this file, to first order: with a tolerance near 1 the token cannot be read at all. The 2 is
    sum_v |d_v| for the head, and one share each of g and r for the softmax.

    Args:
        vocab: V, at least 2.
        loss_dtype: type in which softmax and its gradient are computed.
        work_dtype: type in which the head's backward is summed.
        amplification: a_t = max_v |J_v| / |r_t|, any shape; never below 1/2, large where p(y_t) is near 1.
        accumulated: K, contributions of the token that were added up in work_dtype before the reading.

    Returns:
        Relative errors, shaped like amplification.

    Raises:
        ValueError: vocab below 2, accumulated below 1, an amplification that is not positive and finite, or a type
            that ``unit_roundoff`` does not know.
    """
    a_t = _read_amplification(amplification)
    v, k = _at_least(2, vocab, "vocab"), _at_least(1, accumulated, "accumulated")
    softmax = (3 * np.log(v) + v / 4 + 13) * unit_roundoff(loss_dtype)
    lam = 4
    head = lam * (2 * np.sqrt(v) + np.sqrt(k)) * unit_roundoff(work_dtype)
    return np.asarray(2 * a_t * (softmax + head))


def _at_least(least: int, value: int, name: str) -> int:
    if not value >= least:
        raise ValueError(f"{name} must be at least {least}, got {name}={value}")
    return value


def _read_amplification(amplification: ArrayLike) -> Float:
    a_t = np.asarray(amplification, dtype=np.float64)
    bad = a_t[~(np.isfinite(a_t) & (a_t > 0))]
    if bad.size:
        raise ValueError(
            f"amplification must be positive and finite, got {bad[0]}: leave out tokens with a zero gradient"
        )
    return a_t
