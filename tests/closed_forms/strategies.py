"""Target counts of optimizer steps as Hypothesis draws them: window[m][b], ranks[r][m][b]. Every draw is valid."""

from hypothesis import strategies as st


def _filled(micro_batch):
    """A row with targets among rows that may have none."""
    before, targets, after = micro_batch
    return [*before, targets, *after]


def _heavy_first(window):
    """The first micro-batch outweighs all others together."""
    first, *others = window
    return [[first[0] + 1 + sum(map(sum, others)), *first[1:]], *others]


def _levelled(window):
    """A row more in each micro-batch, so that all have the same number of targets."""
    most = max(map(sum, window))
    return [[*rows, most - sum(rows)] for rows in window]


def _levelled_ranks(ranks):
    """A micro-batch more on each rank, so that all ranks have the same number of targets."""
    totals = [sum(map(sum, window)) for window in ranks]
    return [[*window, [max(totals) + 1 - total]] for window, total in zip(ranks, totals, strict=True)]


def _heavy_first_rank(ranks):
    """The first rank outweighs all others together."""
    total = sum(sum(map(sum, window)) for window in ranks)
    return [[*ranks[0], [total + 1]], *ranks[1:]]


def _square(shape):
    """Rows of one length in micro-batches of any size."""
    length, sizes = shape
    return [[length] * size for size in sizes]


def _crowded_first(window):
    """The first micro-batch has more rows than any other."""
    return [[*window[0], *[0] * max(map(len, window))], *window[1:]]


def _equally_crowded(size):
    """Micro-batches of the same number of rows."""
    return st.lists(st.lists(targets, min_size=size, max_size=size), min_size=1, max_size=4)


def _with_a_long_row(window):
    """One more row, longer than all others."""
    return [*window, [1 + max(map(max, window))]]


targets = st.integers(1, 9)
row_counts = st.integers(0, 9)
micro_batches = st.tuples(st.lists(row_counts, max_size=2), targets, st.lists(row_counts, max_size=2)).map(_filled)
windows = st.lists(micro_batches, min_size=1, max_size=4)
single_micro_batches = micro_batches.map(lambda rows: [rows])
several_micro_batches = st.lists(micro_batches, min_size=2, max_size=4)
heavy_first_windows = several_micro_batches.map(_heavy_first)
level_windows = windows.map(_levelled)
crowded_first_windows = several_micro_batches.map(_crowded_first)
equally_crowded_windows = st.integers(1, 3).flatmap(_equally_crowded)
lone_row_windows = st.lists(st.tuples(targets).map(list), min_size=2, max_size=4).map(_heavy_first)

full_windows = st.lists(st.lists(targets, min_size=1, max_size=4), min_size=1, max_size=4)
long_row_windows = full_windows.map(_with_a_long_row)
equal_row_windows = st.tuples(targets, st.lists(st.integers(1, 4), min_size=1, max_size=4)).map(_square)

ranks = st.lists(windows, min_size=1, max_size=3)
level_ranks = ranks.map(_levelled_ranks)
heavy_first_ranks = st.lists(windows, min_size=2, max_size=3).map(_heavy_first_rank)
