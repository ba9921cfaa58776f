"""Batch shapes that two ranks share evenly, and how few of them are drawn: each example is a training run."""

from hypothesis import settings
from hypothesis import strategies as st

from tests.strategies import Shape

RANKS = 2
few = settings(max_examples=max(2, settings.default.max_examples // 12))


@st.composite
def rank_shapes(draw, max_length=7, min_accumulation=1, uneven=False):
    """A Shape whose rows fill as many micro-batches on each of two ranks; windows may be short at the end.

    With `uneven`, any number of rows: what is missing on a rank, accelerate fills up from the front.
    """
    micro_batch = draw(st.integers(1, 2))
    rows = draw(st.integers(2, 9)) if uneven else RANKS * micro_batch * draw(st.integers(1, 4))
    lengths = draw(st.lists(st.integers(2, max_length), min_size=rows, max_size=rows))
    marks = [draw(st.lists(st.booleans(), min_size=n - 1, max_size=n - 1)) for n in lengths]
    for row in marks:
        # Micro-batches are dealt to ranks and filled up, so each row brings a target.
        row[draw(st.integers(0, len(row) - 1))] = True
    accumulation = draw(st.integers(min_accumulation, 3))
    return Shape(tuple(lengths), tuple(map(tuple, marks)), micro_batch, accumulation, draw(st.integers(0, 2**16)))
