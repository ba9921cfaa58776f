"""The records of all ranks of a run as one: every row of every rank, windows side by side. Numbers only."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from .after_ranks import whole
from .after_record import After
from .record import Record, Row, Window, refuse_unscored


def merge(records: Sequence[Record]) -> Record:
    """Put the records of all ranks together.

    Args:
        records: one of each rank, in any order.

    Returns:
        A record whose windows hold the rows of all ranks, rank by rank; with one record of a single rank, that one.

    Raises:
        ValueError: a rank is missing or there twice; the ranks measured with other versions, at another place or in
            another dtype; a window is not whole, since a rank measured fewer of them or left one before its step.
    """
    if not records:
        raise ValueError("records=[] holds no record: give the one of each rank")
    order = sorted(records, key=lambda record: record.rank)
    first = order[0]
    for name in ("ranks", "instrument", "where", "vocabulary", "work_dtype", "loss_dtype", "versions"):
        values = [getattr(record, name) for record in order]
        odd = [r for r, value in enumerate(values) if value != values[0]]
        if odd:
            raise ValueError(
                f"{name} differs between ranks: {values[0]!r} on rank {first.rank}, {values[odd[0]]!r} on rank "
                f"{order[odd[0]].rank}: merge the records of one run"
            )
    given = [record.rank for record in order]
    if given == [-1]:
        return first
    if given != list(range(first.ranks)):
        raise ValueError(f"these are ranks {given} of {first.ranks}: give the record of each rank once")
    numbers = [len(record.windows) for record in order]
    if len(set(numbers)) > 1:
        raise ValueError(
            f"incomplete window: the ranks measured {numbers} windows, so what one of them summed is not known: watch "
            "the same steps on every rank"
        )
    windows = [merge_window([record.windows[k] for record in order], k) for k in range(numbers[0])]
    if first.instrument == "probe":
        windows = [replace(window, rows=each_once(window.rows)) for window in windows]
    notes = [f"rank {record.rank}: {note}" for record in order for note in record.notes]
    left_out = sorted((left for record in order for left in record.left_out), key=lambda left: left.window)
    missing = set.intersection(*(set(record.missing) for record in order))
    return replace(first, windows=windows, notes=notes, missing=sorted(missing), left_out=left_out, rank=-1)


def merge_window(windows: Sequence[Window], number: int) -> Window:
    """One optimizer step from what each rank, in their order, measured of it."""
    stepped = [window.stepped for window in windows]
    if len(set(stepped)) > 1:
        raise ValueError(
            f"incomplete window: a step ended window {number} on ranks {[r for r, s in enumerate(stepped) if s]} of "
            f"{len(windows)} only: watch the same steps on every rank"
        )
    after = after_of([window.after for window in windows], number)
    # Where parameters are sharded, a rank may hold no part of some.
    reached = max(window.reached for window in windows)
    if reached and after is not None and after.part.any():
        reached = int(np.isfinite(after.before).sum())
    merged = replace(
        windows[0],
        rows=[replace(row, rank=r) for r, window in enumerate(windows) for row in window.rows],
        carried=carried(windows),
        micro_batches=max(window.micro_batches for window in windows),
        forwards=sum(window.forwards for window in windows),
        stepped=stepped[0],
        reached=reached,
        trainable=max(window.trainable for window in windows),
        padding=max(window.padding for window in windows),
        stray=sorted({x for window in windows for x in window.stray}),
        ranks=len(windows),
        consumed="",
        after=after,
        synchronised=len({window.consumed for window in windows}) == 1,
    )
    refuse_unscored(merged, number)
    return merged


def after_of(found: Sequence[After | None], number: int) -> After | None:
    """What all ranks measured after backward; None where no optimizer was given."""
    there = [after for after in found if after is not None]
    if there and len(there) < len(found):
        lacking = [r for r, after in enumerate(found) if after is None]
        raise ValueError(f"window {number} of ranks {lacking} was watched without the optimizer: give it on every rank")
    return whole(there) if there else None


def each_once(rows: Sequence[Row]) -> list[Row]:
    """The rows of a probe, whose averaged gradient tells of a row that ran on several ranks what it weighs in all."""
    found: dict[bytes, Row] = {}
    for row in rows:
        key = row.ids.tobytes()
        if key in found:
            row = replace(found[key], backward_weight=found[key].backward_weight + row.backward_weight)
        found[key] = row
    return list(found.values())


def carried(windows: Sequence[Window]) -> list[Row]:
    """Rows of which a gradient is left though no rank ran them: after the all-reduce each rank sees all rows."""
    ran = {row.ids.tobytes() for window in windows for row in window.rows}
    left = {row.ids.tobytes(): row for window in windows for row in window.carried}
    return [row for ids, row in left.items() if ids not in ran]
