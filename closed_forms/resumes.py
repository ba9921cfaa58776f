"""How often each sample runs when a training is stopped behind one of its windows and another run goes on from there.

The run stops in its last epoch. Letters: B samples of a micro-batch, M micro-batches of a window, W windows of each
epoch and k of the last one that had run.

>>> [times.tolist() for times in resumed_behind_windows([[0, 1, 2, 3, 4, 5, 6, 7]], 2, 2, 1)]
[[1, 1, 2, 2, 1, 1, 0, 0]]
"""

from collections.abc import Sequence

import numpy as np

from .shares import Times, refuse_below_one


def each_once_an_epoch(orders: Sequence[Sequence[int]]) -> Times:
    """Once in each epoch: what a run that was stopped and resumed owes to every sample.

        times_i = number of epochs

    Args:
        orders: [e][i] the samples in the order of epoch e, a permutation each.

    Returns:
        One array, [samples] times.

    Raises:
        ValueError: no epoch, or one that is no permutation of as many samples.
    """
    refuse_below_one(epochs=len(orders))
    samples = len(orders[0])
    if any(sorted(order) != list(range(samples)) for order in orders):
        raise ValueError(f"orders={orders} must hold one permutation of 0 .. {samples - 1} for each epoch")
    return [np.full(samples, len(orders), dtype=np.int64)]


def resumed_behind_windows(orders: Sequence[Sequence[int]], windows: int, accumulation: int, batch: int) -> Times:
    """The resumed run skips as many micro-batches as windows had run, so it begins too early and ends too early.

        runs anew from place k B, where k M B places had run, for W - k windows of M B places each

    Reported in https://github.com/huggingface/transformers/issues/5605

    Args:
        orders: as in ``each_once_an_epoch``.
        windows: k, of the last epoch, that had run when the run stopped.
        accumulation: M.
        batch: B.

    Raises:
        ValueError: as there; a number below 1, or samples that do not fill whole windows, more than k of them.
    """
    counts = each_once_an_epoch(orders)[0] - 1
    order = orders[-1]
    window = _window(len(order), windows, accumulation, batch)
    ran = [*order[: windows * window], *order[windows * batch :][: len(order) - windows * window]]
    return [counts + np.bincount(ran, minlength=len(order))]


def resumed_in_first_order(orders: Sequence[Sequence[int]], windows: int, accumulation: int, batch: int) -> Times:
    """The resumed run shuffles the last epoch as the first one, and goes on behind the same place of that order.

        runs anew from place k M B, of the order of epoch 0

    Arguments and errors as in ``resumed_behind_windows``. Reported in https://github.com/huggingface/accelerate/pull/4071
    """
    counts = each_once_an_epoch(orders)[0] - 1
    order = orders[-1]
    done = windows * _window(len(order), windows, accumulation, batch)
    return [counts + np.bincount([*order[:done], *orders[0][done:]], minlength=len(order))]


def _window(samples: int, windows: int, accumulation: int, batch: int) -> int:
    refuse_below_one(windows=windows, accumulation=accumulation, batch=batch)
    window = accumulation * batch
    if samples % window or windows * window >= samples:
        raise ValueError(
            f"{samples} samples must fill whole windows of {window}, and more than the windows={windows} that had run"
        )
    return window
