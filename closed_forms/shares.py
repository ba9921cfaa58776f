"""How often each sample of an epoch runs when samples are dealt to ranks.

Samples are numbered as they stand in the data; batches of B samples are dealt to the R ranks in turn.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Times = list[NDArray[np.int64]]


def each_once(samples: int) -> Times:
    """Once: what an epoch is.

    Args:
        samples: of the data set, at least 1.

    Returns:
        One array, [samples] times.

    Raises:
        ValueError: a number below 1.
    """
    refuse_below_one(samples=samples)
    return [np.ones(samples, dtype=np.int64)]


def filled_up(samples: int, parts: int, batch: int) -> Times:
    """The first samples run once more, as often as the last step lacks some.

        times_i = 1 + (number of k in S .. ceil(S / (R B)) R B - 1 with k mod S = i)

    What accelerate does by default: https://github.com/huggingface/accelerate/issues/776

    Args:
        samples: S.
        parts: R.
        batch: B.
    """
    refuse_below_one(samples=samples, parts=parts, batch=batch)
    steps = -(-samples // (parts * batch))
    return [np.bincount(np.arange(steps * parts * batch) % samples, minlength=samples)]


def remainder_dropped(samples: int, parts: int, batch: int) -> Times:
    """What does not fill a batch on every rank does not run.

        times_i = 1 for i < floor(S / (R B)) R B, else 0

    Same arguments and errors as ``filled_up``. Reported in https://github.com/lhotse-speech/lhotse/pull/695
    """
    refuse_below_one(samples=samples, parts=parts, batch=batch)
    step = parts * batch
    return [(np.arange(samples) < samples // step * step).astype(np.int64)]


def same_share(samples: int, parts: int, batch: int) -> Times:
    """Every rank reads from the front, for as many steps as its share has.

        times_i = R for i < ceil(S / (R B)) B, else 0

    Same arguments and errors as ``filled_up``. Reported in https://github.com/Shark-NLP/DiffuSeq/issues/37
    """
    refuse_below_one(samples=samples, parts=parts, batch=batch)
    steps = -(-samples // (parts * batch))
    return [parts * (np.arange(samples) < steps * batch).astype(np.int64)]


def first_slice_for_all(samples: int, parts: int, batch: int) -> Times:
    """Every rank takes the first B samples of each step's R B.

        times_i = R where i mod (R B) < B, else 0

    Same arguments and errors as ``filled_up``. Reported in https://github.com/k2-fsa/icefall/issues/1616
    """
    refuse_below_one(samples=samples, parts=parts, batch=batch)
    return [parts * (np.arange(samples) % (parts * batch) < batch).astype(np.int64)]


def own_orders(orders: Sequence[Sequence[int]], batch: int) -> Times:
    """Every rank takes its share of an order of its own: of order r the batches r, r + R, r + 2 R ...

    Reported in https://github.com/NVlabs/LongLive/issues/71

    Args:
        orders: [r][i] a permutation of the samples for each rank.
        batch: B.

    Raises:
        ValueError: no order, or one that is no permutation of as many samples.
    """
    refuse_below_one(parts=len(orders), batch=batch)
    samples = len(orders[0])
    if any(sorted(order) != list(range(samples)) for order in orders):
        raise ValueError(f"orders={orders} must hold one permutation of 0 .. {samples - 1} for each rank")
    taken = [x for r, order in enumerate(orders) for i, x in enumerate(order) if i // batch % len(orders) == r]
    return [np.bincount(taken, minlength=samples)]


def refuse_below_one(**numbers: int) -> None:
    """Raise for what no data set, and no number of ranks, can be.

    Raises:
        ValueError: a number below 1.
    """
    for name, number in numbers.items():
        if number < 1:
            raise ValueError(f"{name}={number} must be at least 1")
