"""Weights of one window of IW-OPD, row by row, as they are and with the teacher's scores one late.

Axes as in ``completions``; N = scored tokens of the window.
"""

from collections.abc import Sequence

import numpy as np

from ._window import Float
from .completions import Rows
from .distillation import iw_opd

Tables = Sequence[Sequence[Float]]


def sampled_early(masks: Rows, policy: Tables, teacher: Tables, gamma: float) -> list[Float]:
    """Sampled tokens under IW-OPD: w = ``distillation.iw_opd`` / N.

    Args:
        policy, teacher: [m][b, t] log p of the tokens, which the policy of the window generated, and log q.
        gamma: iw_opd_gamma.
    """
    n = sum(np.sum(row) for rows in masks for row in rows)
    return [
        iw_opd([q[: len(row)]], [p[: len(row)]], [row], gamma, 1e-8)[0] / n
        for rows, ps, qs in zip(masks, policy, teacher)
        for row, p, q in zip(rows, ps, qs)
    ]


def sampled_late(masks: Rows, policy: Tables, teacher: Tables, gamma: float) -> list[Float]:
    """As ``sampled_early``, each token of a completion with the log q of the one before it, and the first with 0.

    Source: https://github.com/areal-project/AReaL/issues/1728
    """
    late = [
        [np.append(0.0, q[: len(row) - 1] * np.asarray(row)[:-1]) for row, q in zip(rows, qs)]
        for rows, qs in zip(masks, teacher)
    ]
    return sampled_early(masks, policy, late, gamma)
