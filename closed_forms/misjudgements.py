"""What is said of weights that were read right, by a verdict, a ledger or a file, and what a wrong one says.

A verdict on a window is three numbers: whether the window is right, 0 or 1; by how much its weights are off at most, in
units of 1/N; and how many formulas fit them. Forms give them window by window.

Nobody reported these: they are how an instrument could measure right and still mislead.
"""

from collections.abc import Sequence

import numpy as np

from ._window import Float, Window, read_window, window_total


def nothing_fits(off: float) -> list[Float]:
    """Verdict on weights of which some are off by a share of 1/N, up and down.

        right = 0, off = off, formulas = 0

    Args:
        off: largest |w - 1/N| N, above 0.

    Raises:
        ValueError: it is not above 0.
    """
    return [np.array([0.0, positive(off), 0.0])]


def fits_on_the_mean(off: float) -> list[Float]:
    """Verdict when the mean weight of each row is compared: what is off up and down by as much is not seen.

        right = 1, off = 0, formulas = 1

    Argument and errors as for ``nothing_fits``.
    """
    positive(off)
    return [np.array([1.0, 0.0, 1.0])]


def fits_within_tolerance(off: float) -> list[Float]:
    """Verdict when the tolerance is wider than the error.

        right = 1, off = off, formulas = 1

    Argument and errors as for ``nothing_fits``.
    """
    return [np.array([1.0, positive(off), 1.0])]


def all_that_fit(formulas: int) -> list[Float]:
    """Verdict on a window on which several formulas are the same.

        right = 1, off = 0, formulas = k

    Args:
        formulas: k, at least 1.

    Raises:
        ValueError: it is less.
    """
    if formulas < 1:
        raise ValueError(f"formulas={formulas} must be at least 1: a right window follows the token mean")
    return [np.array([1.0, 0.0, formulas])]


def only_the_first(formulas: int) -> list[Float]:
    """Verdict when the first formula that fits is named and the others are not.

        right = 1, off = 0, formulas = 1

    Argument and errors as for ``all_that_fit``.
    """
    return [all_that_fit(formulas)[0] / [1, 1, formulas]]


def each_by_itself(right: Sequence[bool]) -> list[Float]:
    """Verdicts on windows of which each follows one formula, and some are wrong all the same.

        right_w = (w is right), off = 0, formulas = 1

    Args:
        right: [w] whether the window is right, at least one.

    Raises:
        ValueError: there is no window.
    """
    if not len(right):
        raise ValueError("right=[] holds no window: say of one at least whether it is right")
    return [np.array([float(mark), 0.0, 1.0]) for mark in right]


def all_as_the_first(right: Sequence[bool]) -> list[Float]:
    """Verdicts when that on the first window is told of all.

        right_w = (0 is right), off = 0, formulas = 1

    Argument and errors as for ``each_by_itself``.
    """
    return each_by_itself([right[0] for _ in right] if len(right) else right)


def all_right(right: Sequence[bool]) -> list[Float]:
    """Verdicts when what is wrong is not looked at.

        right_w = 1, off = 0, formulas = 1

    Argument and errors as for ``each_by_itself``.
    """
    return each_by_itself([True for _ in right])


def runs(ran: Sequence[int]) -> list[Float]:
    """Times that each sample ran.

        times_i = r_i

    Args:
        ran: [i] r, at least 0.

    Raises:
        ValueError: there is no sample, or one that ran less than never.
    """
    if not len(ran) or min(ran) < 0:
        raise ValueError(f"ran={list(ran)} must hold how often each sample ran, at least 0")
    return [np.array(ran, dtype=np.float64)]


def counted_once(ran: Sequence[int]) -> list[Float]:
    """Times that each sample ran when a second run is not counted.

        times_i = min(r_i, 1)

    Argument and errors as for ``runs``.
    """
    return [np.minimum(runs(ran)[0], 1)]


def shared_by_permutations(ran: Sequence[int], permuted: Sequence[int]) -> list[Float]:
    """Times that each sample ran when a sample is known by its tokens in any order.

        times_i = floor(sum of r_j / number of j, j with the tokens of i)

    Args:
        ran: as for ``runs``.
        permuted: [i] one number for all samples that have the same tokens.

    Raises:
        ValueError: as ``runs``; not one number for each sample.
    """
    (r_i,), alike_i = runs(ran), np.array(permuted)
    if alike_i.shape != r_i.shape:
        raise ValueError(f"{alike_i.size} samples are said to be alike or not, and {r_i.size} ran: say it of each")
    return [np.array([r_i[alike_i == a].sum() // (alike_i == a).sum() for a in alike_i])]


def shared_by_beginning(ran: Sequence[int], beginning: Sequence[int]) -> list[Float]:
    """Times that each sample ran when a sample is known by its first tokens.

        times_i = floor(sum of r_j / number of j, j that begins as i)

    As ``shared_by_permutations``, with one number for all samples that begin alike.
    """
    return shared_by_permutations(ran, beginning)


def none_found(samples: int) -> list[Float]:
    """Times that each sample ran when a row of several is taken for one, which nobody gave.

        times_i = 0

    Args:
        samples: S, at least 1.

    Raises:
        ValueError: it is less.
    """
    return [0 * runs([1] * samples)[0]]


def divided_by_all(window: Window, uneven: Sequence[bool]) -> list[Float]:
    """Divisor, due and targets of each sample of a token mean in which those of some samples do not weigh alike.

        1 / w, N, n_b      the divisor nan where the targets of b have none in common

    Args:
        window: [m][b] as in ``aggregation.token_mean``.
        uneven: [b] whether the targets weigh differently.

    Returns:
        One array per sample, [3].

    Raises:
        ValueError: as ``token_mean``; not one mark for each sample.
    """
    n_b, _ = read_window(window)
    n = window_total(n_b, "n_b")
    if len(uneven) != n_b.size:
        raise ValueError(f"uneven has {len(uneven)} marks for {n_b.size} samples: mark each")
    return [np.array([np.nan if odd else n, n, n_row]) for n_row, odd in zip(n_b, uneven)]


def median_divisor(window: Window, uneven: Sequence[bool]) -> list[Float]:
    """Divisor, due and targets when the median is told of targets that do not weigh alike.

        N, N, n_b

    Arguments and errors as for ``divided_by_all``.
    """
    return divided_by_all(window, [False for _ in uneven])


def due_of_its_micro_batch(window: Window, uneven: Sequence[bool]) -> list[Float]:
    """Divisor, due and targets when what is due are the targets of the micro-batch.

        1 / w, N_m, n_b

    Arguments and errors as for ``divided_by_all``.
    """
    n_b, m_b = read_window(window)
    n_m = np.bincount(m_b, weights=n_b)
    found = divided_by_all(window, uneven)
    return [np.array([divisor, n_m[m], n_row]) for (divisor, _, n_row), m in zip(found, m_b)]


def reached_but(parameters: Sequence[str], micro_batches: int, left_out: str) -> list[Float]:
    """Whether a gradient comes to each parameter in each micro-batch when all but the first leave some of them out.

        r_pm = (m = 0 or p is not left out)

    Args:
        parameters: [p] names.
        micro_batches: M, at least 1.
        left_out: what stands in the names of those that are left out.

    Returns:
        One array, [p M], parameter by parameter.

    Raises:
        ValueError: no micro-batch.
    """
    if micro_batches < 1:
        raise ValueError(f"micro_batches={micro_batches} must be at least 1: without one nothing is reached")
    reached = [[float(m == 0 or left_out not in name) for m in range(micro_batches)] for name in parameters]
    return [np.concatenate(reached)]


def positive(off: float) -> float:
    """The number itself.

    Raises:
        ValueError: it is not above 0.
    """
    if not off > 0:
        raise ValueError(f"off={off} must be above 0: without it the window is right")
    return float(off)
