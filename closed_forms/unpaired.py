"""Weight of every completion under KTO, where each is desirable or not by itself.

Axes: b = completion of the micro-batch, B of them. u_b = sum_t (log pi - log pi_ref) is the log-ratio of a completion;
the weight is -dL/du_b, and each of its scored tokens has it. L is the mean over the B completions; TRL then divides by
K, the micro-batches of the window. Source: ``KTOTrainer._compute_loss``, trl/trainer/kto_trainer.py.
"""

import numpy as np
from numpy.typing import ArrayLike

from ._logistic import sigma
from ._read import positive, read_numbers, shape_of
from ._window import Float


def kto(
    u: ArrayLike, desirable: ArrayLike, beta: float, baseline: float, gain: float = 1.0, loss: float = 1.0
) -> Float:
    """Weights of the Kahneman-Tversky objective.

        w_b = gain beta sigma(z) sigma(-z) / B     if desirable,   z = beta (u_b - z0)
        w_b = -loss beta sigma(z) sigma(-z) / B    else

    The baseline z0 carries no gradient. Source: https://arxiv.org/abs/2402.01306, equation 7.

    Args:
        u: [b] log-ratios.
        desirable: [b] 1 or 0.
        beta: positive.
        baseline: z0, from ``kto_baseline``; 0 or more.
        gain, loss: desirable_weight and undesirable_weight, positive.

    Returns:
        [b] weights.

    Raises:
        ValueError: no completion; log-ratios that are not finite; marks that are not one of 0 and 1 for each; an option
            that is not positive; a negative baseline.
    """
    u_b, desirable_b = _read(u, desirable)
    if not 0 <= baseline < np.inf:
        raise ValueError(f"baseline is a divergence held at 0 or more, got baseline={baseline}")
    z_b = positive(beta, "beta") * (u_b - baseline)
    side_b = np.where(desirable_b, positive(gain, "gain"), -positive(loss, "loss"))
    return np.asarray(side_b * beta * sigma(z_b) * sigma(-z_b) / u_b.size)


def apo_zero_unpaired(u: ArrayLike, desirable: ArrayLike, beta: float, gain: float = 1.0, loss: float = 1.0) -> Float:
    """Weights of the anchored objective on completions without a partner.

        w_b = +-beta sigma(beta u_b) sigma(-beta u_b) / B, times gain or loss: ``kto`` at a baseline of 0

    Arguments, result and errors as for ``kto``. Source: https://arxiv.org/abs/2408.06266, equation 7, without pairs.
    """
    return kto(u, desirable, beta, 0.0, gain, loss)


def kto_baseline(mismatched: ArrayLike) -> float:
    """Estimate of the divergence that KTO measures completions against.

        z0 = max(0, mean_b u'_b)

    Over the completions of all ranks. Source: https://arxiv.org/abs/2402.01306, section 4.1.

    Args:
        mismatched: [b] log-ratios u' of completions put behind the prompts of others.

    Returns:
        The baseline, 0 or more.

    Raises:
        ValueError: no log-ratio, or one that is not finite.
    """
    u_b, _ = _read(mismatched, np.ones(np.shape(mismatched)))
    return max(0.0, float(u_b.mean()))


def _read(u: ArrayLike, desirable: ArrayLike) -> tuple[Float, Float]:
    shape = shape_of(u)
    if len(shape) != 1 or shape == (0,):
        raise ValueError(f"log-ratios are one per completion, got {u!r}: give a list with at least one")
    marks = read_numbers(desirable, shape, "desirable")
    if not np.isin(marks, (0, 1)).all():
        raise ValueError(f"desirable holds 0 or 1 for each completion, got {desirable!r}: mark each")
    return read_numbers(u, shape, "log-ratios"), marks
