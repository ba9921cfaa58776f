"""Records on the disk, one file for each rank: complete or absent, and read back to the last bit."""

import json
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

import numpy as np

from . import files
from .after_saved import KINDS, after_of
from .ranks import merge
from .record import LeftOut, Record, Row, Window

TYPES = {"ids": np.int64, "target": np.int64, "starts": np.int64, "scored": np.bool_, "intended": np.bool_}


def save(record: Record, folder: str | Path) -> Path:
    """Write a record under the name of its rank; what stood there before is replaced at once.

    Returns:
        The file.
    """
    Path(folder).mkdir(parents=True, exist_ok=True)
    file = Path(folder) / name_of(record.rank, record.ranks)
    text = json.dumps({"scheme": scheme(), **asdict(record)}, default=as_list)
    files.write(file, text)
    return file


def load(folder: str | Path) -> Record:
    """Read the records of all ranks and put them together.

    Raises:
        LookupError: no record is there, or that of a rank is missing.
        ValueError: a file of another scheme; as `ranks.merge`.
    """
    files = sorted(Path(folder).glob("rank-*.json"))
    if not files:
        raise LookupError(f"{folder} holds no record: save the one of each rank there first")
    records = [read(file) for file in files]
    missing = {name_of(r, records[0].ranks) for r in range(records[0].ranks)} - {file.name for file in files}
    if records[0].rank >= 0 and missing:
        raise LookupError(f"{folder} holds {len(files)} of {records[0].ranks} ranks, {min(missing)} is missing")
    return merge(records)


def name_of(rank: int, ranks: int) -> str:
    """Of the file; a record of all ranks is named so."""
    return f"rank-{'all' if rank < 0 else rank}-of-{ranks}.json"


def scheme() -> str:
    """How a file is laid out; it changes whenever a field does."""
    names = [field.name for kind in (Record, Window, Row, LeftOut, *KINDS) for field in fields(kind)]
    return f"2 {' '.join(names)}"


def read(file: Path) -> Record:
    """One file."""
    plain: dict[str, Any] = json.loads(file.read_text())
    found = plain.pop("scheme", None)
    if found != scheme():
        raise ValueError(f"{file.name} has scheme={found!r}, this release reads {scheme()!r}: measure again")
    windows = [
        Window(
            **{
                **window,
                "rows": [row_of(row) for row in window["rows"]],
                "carried": [row_of(row) for row in window["carried"]],
                "after": None if window["after"] is None else after_of(window["after"]),
            }
        )
        for window in plain.pop("windows")
    ]
    left_out = [LeftOut(**{**left, **arrays_of(left)}) for left in plain.pop("left_out")]
    return Record(**plain, windows=windows, left_out=left_out)


def row_of(plain: dict[str, Any]) -> Row:
    """A row whose lists are arrays again."""
    return Row(**{**plain, **arrays_of(plain)})


def arrays_of(plain: dict[str, Any]) -> dict[str, Any]:
    """Those fields that are lists, as arrays."""
    return {
        name: np.array(value, dtype=TYPES.get(name, np.float64))
        for name, value in plain.items()
        if isinstance(value, list)
    }


def as_list(array: Any) -> Any:
    """What JSON can hold of an array, or of one of its numbers."""
    return array.tolist()
