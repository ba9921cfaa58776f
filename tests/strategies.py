"""The batch shapes that the properties draw: valid ones only."""

from dataclasses import dataclass

from hypothesis import strategies as st


@dataclass(frozen=True)
class Shape:
    """Rows, what of them is labelled, and how a loop cuts them up.

    Attributes:
        lengths: [b] tokens of each row.
        labelled: [b][n - 1] which next-token targets carry a label; every micro-batch has at least one.
        micro_batch: rows per backward.
        accumulation: micro-batches per optimizer step; the last window may hold fewer.
        seed: of ids and weights.
    """

    lengths: tuple[int, ...]
    labelled: tuple[tuple[bool, ...], ...]
    micro_batch: int
    accumulation: int
    seed: int

    def windows(self) -> list[range]:
        """Row numbers of each optimizer step."""
        size, rows = self.micro_batch * self.accumulation, len(self.lengths)
        return [range(start, min(start + size, rows)) for start in range(0, rows, size)]

    def micro_batches(self) -> list[list[int]]:
        """Row numbers of each backward."""
        rows = range(len(self.lengths))
        return [list(rows[start : start + self.micro_batch]) for start in range(0, len(rows), self.micro_batch)]


@st.composite
def shapes(draw, max_rows=6, max_length=8, masks=True, min_accumulation=1, any_order=False, together=1):
    """Draw a Shape.

    With `any_order`, one whose every row has a target, so that no order leaves a step without any. The first
    micro-batch has at least `together` rows.
    """
    lengths = draw(st.lists(st.integers(2, max_length), min_size=together, max_size=max_rows))
    micro_batch = draw(st.integers(together, 3))
    accumulation = draw(st.integers(min_accumulation, 3))
    marks = [[True] * (n - 1) for n in lengths]
    if masks:
        marks = [draw(st.lists(st.booleans(), min_size=n - 1, max_size=n - 1)) for n in lengths]
    size = 1 if any_order else micro_batch
    for start in range(0, len(lengths), size):
        group = marks[start : start + size]
        if not any(any(row) for row in group):
            # A micro-batch without a target has no mean, so no loop here can train on it.
            group[draw(st.integers(0, len(group) - 1))][0] = True
    return Shape(tuple(lengths), tuple(map(tuple, marks)), micro_batch, accumulation, draw(st.integers(0, 2**16)))
