"""What is told of a record is what is in it: by a file, by JSON, by the table, by the rows of all ranks together."""

import json
import math
import re
from dataclasses import replace
from tempfile import TemporaryDirectory

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from instrument.ranks import merge
from instrument.report.report import Report
from instrument.saved import load, save
from tests.instrument.records import a_record, a_row, a_window

weights = st.one_of(st.sampled_from([0.0, 1 / 3, -0.25, 1e-12]), st.floats(-2, 2, allow_subnormal=False))


@st.composite
def rows(draw, start, micro_batches=2):
    """A row of ids of its own, of some documents, with any weights; its first target is scored."""
    n = draw(st.integers(1, 6))
    ids = np.arange(start, start + n + 1)
    values = draw(st.lists(weights, min_size=n, max_size=n))
    return a_row(
        values,
        scored=[True, *draw(st.lists(st.booleans(), min_size=n - 1, max_size=n - 1))],
        cosines=draw(st.lists(st.sampled_from([1.0, -1.0, np.nan]), min_size=n, max_size=n)),
        micro_batch=draw(st.integers(0, micro_batches - 1)),
        uniform=draw(st.lists(weights, min_size=n, max_size=n)),
        ids=ids,
        target=ids[1:],
        starts=np.array([0, *sorted(draw(st.sets(st.integers(1, n), max_size=2)))]),
    )


@st.composite
def records(draw, rank=-1, ranks=1):
    """A record of two windows; the second carries a row."""
    windows = []
    for number in range(2):
        starts = [100 * (rank + 1) + 50 * number + 10 * b for b in range(draw(st.integers(1, 3)))]
        carried = [draw(rows(starts[-1] + 10))] if number else []
        windows.append(a_window(*[draw(rows(start)) for start in starts], carried=carried))
    return replace(a_record(*windows), rank=rank, ranks=ranks)


def all_rows(record):
    """Every row that a record holds, those that were carried too."""
    return [row for window in record.windows for row in (*window.rows, *window.carried)]


@given(record=records())
def test_a_saved_record_is_read_back_to_the_last_bit(record):
    with TemporaryDirectory() as folder:
        save(record, folder)
        found = load(folder)

    assert len(all_rows(record)) == len(all_rows(found))
    for row, same in zip(all_rows(record), all_rows(found)):
        for name, value in vars(row).items():
            np.testing.assert_array_equal(value, getattr(same, name))
            assert np.asarray(value).dtype == np.asarray(getattr(same, name)).dtype
    assert Report(record).to_json() == Report(found).to_json()


@given(record=records())
def test_json_holds_every_number_and_null_only_for_what_is_none(record):
    told = json.loads(Report(record).to_json())["windows"]

    for window, found in zip(record.windows, told, strict=True):
        for name in ("rows", "carried"):
            for row, plain in zip(getattr(window, name), found[name], strict=True):
                for field, value in vars(row).items():
                    assert [as_told(x) for x in np.ravel(value).tolist()] == np.ravel(plain[field]).tolist()


def as_told(x):
    """A number as JSON holds it."""
    return None if isinstance(x, float) and not math.isfinite(x) else x


@given(record=records())
def test_each_cell_of_the_table_is_a_weight_times_the_targets_of_its_window(record):
    lines = str(Report(record)).splitlines()
    told = [line for line in lines if re.match(r"(\d+|carried) ", line) and "targets in" not in line]

    every = [(row, window.targets()) for window in record.windows for row in (*window.rows, *window.carried)]
    for line, (row, n) in zip(told, every, strict=True):
        marks = [f"{w * n:.4f}" if w or scored else "." for w, scored in zip(row.weight, row.scored | row.intended)]
        assert marks == line.split()[3:-1]


@st.composite
def ranks(draw):
    """The records of up to three ranks of one run, in any order."""
    number = draw(st.integers(2, 3))
    found = [draw(records(rank, number)) for rank in range(number)]
    return draw(st.permutations(found))


@given(given_=ranks())
def test_the_whole_record_has_each_row_of_each_rank_once(given_):
    whole = merge(given_)

    for number, window in enumerate(whole.windows):
        expected = sorted(
            (record.rank, row.ids.tolist(), row.weight.tolist())
            for record in given_
            for row in record.windows[number].rows
        )
        assert expected == sorted((row.rank, row.ids.tolist(), row.weight.tolist()) for row in window.rows)
        carried = [row.ids.tolist() for record in given_ for row in record.windows[number].carried]
        assert sorted(carried) == sorted(row.ids.tolist() for row in window.carried)
