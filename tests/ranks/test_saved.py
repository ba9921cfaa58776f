"""A record on the disk is complete or absent, and gives the same report as the one in memory."""

import json
import os
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np
import pytest

from instrument.after_record import Addends, Step, Sum
from instrument.ranks import merge
from instrument.report.report import Report
from instrument.saved import load, save
from tests.instrument.records import a_record, a_row, a_window, an_after


def two_records():
    windows = [a_window(a_row([0.1 + 0.2, 1 / 3], ids=np.arange(9, 12), cosines=[1.0, np.nan])), a_window(a_row([0.7]))]
    return [replace(a_record(windows[r]), rank=r, ranks=2, logged=[1 / 3]) for r in range(2)]


def test_saved_records_give_the_same_report_to_the_last_bit(tmp_path):
    records = two_records()
    for record in records:
        Report(record).save(tmp_path)

    assert Report.load(tmp_path).to_json() == Report(merge(records)).to_json()
    assert str(Report.load(tmp_path)) == str(Report(merge(records)))


def test_arrays_come_back_as_they_were(tmp_path):
    record = a_record(a_window(a_row([0.1 + 0.2, np.nan], cosines=[np.inf, 1.0])))
    save(record, tmp_path)

    (row,), (same,) = record.windows[0].rows, load(tmp_path).windows[0].rows
    for name, value in vars(row).items():
        np.testing.assert_array_equal(value, getattr(same, name))
        assert np.asarray(value).dtype == np.asarray(getattr(same, name)).dtype


def test_a_missing_rank_is_named(tmp_path):
    save(two_records()[0], tmp_path)

    with pytest.raises(LookupError, match=r"1 of 2 ranks, rank-1-of-2\.json is missing"):
        load(tmp_path)


def test_an_empty_folder_is_told(tmp_path):
    with pytest.raises(LookupError, match="holds no record"):
        load(tmp_path)


def test_saving_again_replaces_the_file(tmp_path):
    for weight in (0.1, 0.5):
        save(a_record(a_window(a_row([weight]))), tmp_path)

    assert [row.weight.tolist() for row in load(tmp_path).windows[0].rows] == [[0.5]]
    assert [file.name for file in tmp_path.iterdir()] == ["rank-all-of-1.json"]


def test_a_write_that_fails_leaves_what_was_there(tmp_path, monkeypatch):
    file = save(a_record(a_window(a_row([0.1]))), tmp_path)
    before = file.read_bytes()

    def full(path, text, encoding):
        path.write_bytes(text.encode()[:100])
        raise OSError("no space left")

    monkeypatch.setattr(Path, "write_text", full)
    with pytest.raises(OSError, match="no space"):
        save(a_record(a_window(a_row([0.2]))), tmp_path)

    assert file.read_bytes() == before
    assert [file.name for file in tmp_path.iterdir()] == ["rank-all-of-1.json"]


def test_a_process_killed_before_the_rename_leaves_no_record(tmp_path):
    pid = os.fork()
    if pid == 0:
        Path.replace = lambda self, target: os._exit(9)
        save(a_record(a_window(a_row([0.1]))), tmp_path)
        os._exit(1)

    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 9
    with pytest.raises(LookupError, match="holds no record"):
        load(tmp_path)


def test_a_file_of_another_scheme_is_refused(tmp_path):
    file = save(a_record(a_window(a_row([0.1]))), tmp_path)
    file.write_text(json.dumps({**json.loads(file.read_text()), "scheme": "0"}))

    with pytest.raises(ValueError, match="scheme='0'"):
        load(tmp_path)


def test_records_of_other_versions_are_not_put_together(tmp_path):
    first, second = two_records()
    save(first, tmp_path)
    save(replace(second, versions={"torch": "1.0"}), tmp_path)

    with pytest.raises(ValueError, match="versions differs between ranks"):
        load(tmp_path)


def test_a_report_names_the_versions_that_were_measured():
    record = replace(a_record(a_window(a_row([1.0]))), versions={"torch": "1.0"})

    assert json.loads(Report(record).to_json())["versions"] == {"torch": "1.0"}


def test_nothing_measured_is_not_saved(tmp_path):
    with pytest.raises(RuntimeError, match="no window was measured"):
        Report(a_record()).save(tmp_path)


def test_what_was_measured_after_backward_comes_back_as_it_was(tmp_path):
    step = Step("SGD", "", *(np.array([0.1, np.nan]) for _ in range(6)), hidden=np.array([True, False]))
    sums = [Sum("last norm", "a", 0.1 + 0.2, 1.0, np.inf, 3, {"words": 1 / 3}, [0.0, 1 / 3])]
    addends = [
        Addends("embedding rows", "b", np.array([3, 5]), *(np.ones((1, 2)) / 3 for _ in range(3)), 2, np.zeros(0))
    ]
    after = an_after(step=step, sums=sums, addends=addends, unsummed=("head: why",), ranks=[an_after()])
    save(a_record(a_window(a_row([0.1]), after=after)), tmp_path)

    loaded = load(tmp_path).windows[0].after
    assert repr(asdict(loaded)) == repr(asdict(after))
