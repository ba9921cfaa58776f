"""Weight of every target token when a loader hands over other rows than it should.

Windows as in ``aggregation.token_mean``. What is fed is averaged as it should be: only which rows take part is wrong.
A row that is not fed has no entry.
"""

import numpy as np

from ._window import Float, Window
from .aggregation import token_mean


def first_micro_batch_repeated(window: Window) -> list[Float]:
    """Weight of each target that runs when every micro-batch of the window is its first one.

        w_m = M / (M n_0) = 1 / n_0 for m = 0

    Reported in https://github.com/baaivision/URSA/issues/10

    Args:
        window: [m][b] targets of row b in the micro-batch m that was due.

    Returns:
        One array per row of the first micro-batch, [n_b] weights over all its runs; all together sum to 1.

    Raises:
        ValueError: as ``token_mean``, of the first micro-batch.
    """
    return token_mean(window[:1])


def batch_repeated(before: Window) -> list[Float]:
    """Weight of each target that runs when a step is fed the batch of the step before once more.

        w = 1 / N'      N' targets of the step before

    Reported in https://github.com/dscripka/openWakeWord/pull/202

    Args:
        before: [m][b] targets of row b in micro-batch m of what is fed in place of the window.

    Raises:
        ValueError: as ``token_mean``.
    """
    return token_mean(before)


def never_shuffled(given: Window) -> list[Float]:
    """Weight of each target when the rows come in the order in which they are stored.

        w = 1 / N'      N' targets of the rows that stand at the window's place in the data

    Reported in https://github.com/Lightning-Universe/lightning-transformers/issues/272

    Args:
        given: [m][b] targets of row b in micro-batch m of the window that is next in the data.

    Raises:
        ValueError: as ``token_mean``.
    """
    return token_mean(given)


def drawn_twice(drawn: Window) -> list[Float]:
    """Weight of each target that runs when a shuffle that swaps in place draws one of two rows twice, the other never.

        w = 1 / N'      N' targets of what is drawn in place of the window

    Reported in https://github.com/r9y9/wavenet_vocoder/issues/130

    Args:
        drawn: [m][b] targets of row b in micro-batch m of what is fed in place of the window.

    Raises:
        ValueError: as ``token_mean``.
    """
    return token_mean(drawn)


def first_skipped(window: Window, number: int, skipped: int) -> list[Float]:
    """Weight of each target that runs when an epoch begins behind the batches that another one had seen.

        w = 1 / N where the window runs, and no entry else

    Reported in https://github.com/allenai/open-instruct/pull/681

    Args:
        window: as in ``token_mean``.
        number: of the window in its epoch, from 0; skipped: how many windows are skipped.

    Raises:
        ValueError: as ``token_mean``.
    """
    return token_mean(window) if number >= skipped else [np.zeros(0)]
