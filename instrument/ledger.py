"""Which sample ran when and where, and what its targets were divided by.

A sample is a document, and is known by its tokens: padding, positions, labels and the row that it is packed into are
no part of it.
"""

import hashlib
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from .record import Record, Row


class Entry(NamedTuple):
    """One run of one sample.

    Attributes:
        window, rank, micro_batch: where it ran; of one that was left out, the window before which it did.
        sample: its id.
        tokens: of the sample.
        targets: of them, those that were scored.
        divisor: what each target was divided by, 1 / w; nan where it has none, or where they differ.
        due: what it should have been divided by, N: the scored targets of the window on all ranks.
        used: a step consumed its gradient. Otherwise it was thrown away, as by a loss scaler; then targets, divisor and
            due are 0, nan and 0.
    """

    window: int
    rank: int
    micro_batch: int
    sample: str
    tokens: int
    targets: int
    divisor: float
    due: int
    used: bool = True


def sample_id(tokens: ArrayLike) -> str:
    """Name a sample by its token ids.

    Raises:
        ValueError: there is no token, and all empty samples would share a name.
    """
    ids = np.asarray(tokens, dtype=np.int64)
    if ids.ndim != 1 or not ids.size:
        raise ValueError(
            f"tokens={tokens!r} is no list of ids with one token at least, so nothing tells it from others"
        )
    return hashlib.blake2b(ids.tobytes(), digest_size=8).hexdigest()


def ledger(*records: Record) -> list[Entry]:
    """Read one or more records, as of a run that was resumed, in the order in which they were measured.

    Raises:
        ValueError: a record of one rank among several, which does not know what the others ran.
    """
    parts = [record for record in records if record.rank >= 0]
    if parts:
        raise ValueError(f"this is rank {parts[0].rank} of {parts[0].ranks}: merge the records of all ranks first")
    entries: list[Entry] = []
    first = 0
    for record in records:
        for number, window in enumerate(record.windows):
            entries += thrown_away(record, number, first)
            due = sum(int(row.scored.sum()) for row in window.rows)
            for row in window.by_micro_batch():
                entries += [Entry(first + number, row.rank, row.micro_batch, *told, due) for told in documents(row)]
        entries += thrown_away(record, len(record.windows), first)
        first += len(record.windows)
    return entries


def thrown_away(record: Record, number: int, first: int) -> Iterable[Entry]:
    """Documents whose gradient was thrown away before a window of the record."""
    for left in (left for left in record.left_out if left.window == number):
        for start, end in zip(left.starts, [*left.starts[1:], left.ids.size]):
            sample = sample_id(left.ids[start:end])
            place = (first + number, left.rank, left.micro_batch)
            yield Entry(*place, sample, int(end - start), 0, float("nan"), 0, used=False)


def documents(row: Row) -> Iterable[tuple[str, int, int, float]]:
    """Id, tokens, scored targets and divisor of each document of a row."""
    ends = [*row.starts[1:], row.ids.size]
    for start, end in zip(row.starts, ends):
        # Target i is token i + 1, and the first token of a document is a target of the one before it, if of any.
        at = slice(max(start - 1, 0), end - 1)
        weight = (row.weight + row.uniform)[at][row.scored[at]]
        even = weight.size > 0 and bool(np.all(weight != 0)) and np.ptp(weight) <= 1e-3 * np.abs(weight).max()
        divisor = float(1 / np.median(weight)) if even else float("nan")
        yield sample_id(row.ids[start:end]), int(end - start), weight.size, divisor


def times(entries: Iterable[Entry], samples: Sequence[ArrayLike]) -> list[int]:
    """[s] how often each of the samples, given by its tokens, ran; equal samples share their runs evenly."""
    names = [sample_id(tokens) for tokens in samples]
    ran, alike = Counter(entry.sample for entry in entries), Counter(names)
    return [ran[name] // alike[name] for name in names]


def odd_samples(entries: Sequence[Entry], samples: Sequence[ArrayLike], epochs: int = 1) -> list[str]:
    """Say which samples did not run once in each epoch, and what ran that is none of them; empty where all is well."""
    names = [sample_id(tokens) for tokens in samples]
    due = {name: epochs * count for name, count in Counter(names).items()}
    ran = Counter(entry.sample for entry in entries)
    told = []
    for name, count in due.items():
        if ran[name] != count:
            places = ", ".join(
                f"{'' if e.used else 'left out before '}window {e.window} rank {e.rank} micro-batch {e.micro_batch}"
                for e in entries
                if e.sample == name
            )
            told.append(f"sample {names.index(name)} ran {ran[name]} times, {count} due: {places or 'nowhere'}")
    strange = [entry for entry in entries if entry.sample not in due]
    if strange:
        told.append(
            f"{len(strange)} runs are of no sample that was given, the first in window {strange[0].window} on rank "
            f"{strange[0].rank}, of {strange[0].tokens} tokens"
        )
    return told
