"""What is left of each gradient, and of each micro-batch in it, when a clip or a loss scale is applied wrongly.

Letters and arguments as in ``wrong_steps``.
"""

from collections.abc import Sequence

import numpy as np

from ._window import Float
from .updates import clip_factor


def unscaled_twice(norms: Sequence[float], max_norm: float, scale: float) -> list[Float]:
    """As ``wrong_steps.clipped``, when the loss scale is divided out twice, and then clipped.

        f_p = min(1, max_norm / (|g| / S + 1e-6)) / S^2

    Reported in https://github.com/THUDM/slime/pull/1842
    """
    return [np.full(len(norms), clip_factor(np.asarray(norms) / scale, max_norm) / scale**2)]


def clipped_by_norm_of_some(norms: Sequence[float], max_norm: float, scale: float) -> list[Float]:
    """As ``wrong_steps.clipped``, when the norm is that of the first half of the parameters.

        f_p = min(1, max_norm / (|g_0, ..., g_(P // 2 - 1)| + 1e-6)) / S

    Reported in https://github.com/pytorch/pytorch/issues/170862
    """
    return [np.full(len(norms), clip_factor(norms[: len(norms) // 2], max_norm) / scale)]


def clipped_on_the_way(first_norms: Sequence[float], max_norm: float) -> list[Float]:
    """As ``wrong_steps.whole_sum`` of two micro-batches, when the gradient of the first is clipped by itself.

        s = 0, min(1, max_norm / (|g_0| + 1e-6)), 1

    Reported in https://github.com/huggingface/transformers/issues/1563

    Args:
        first_norms: [p] norm of each gradient behind the first micro-batch.
        max_norm: of the clip.
    """
    return [np.array([0.0, clip_factor(first_norms, max_norm), 1.0])]
