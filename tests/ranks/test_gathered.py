"""Real ranks hand over their records: each gets the whole, by a collective or through files, none waits for ever."""

import pytest

from instrument.ranks import merge
from instrument.report.report import Report
from tests.ranks import small_jobs
from tests.ranks.pool import on_ranks

pytestmark = pytest.mark.spawn
LENGTHS = [4, 3, 6, 2, 5, 3]


def test_every_rank_gets_the_rows_of_all():
    first, second = (Report(record) for record in on_ranks(small_jobs.gathered, LENGTHS, None))

    assert first.ok
    assert [[len(row.ids) for row in window.rows] for window in first.windows] == [[4, 3], [6, 2], [5, 3]]
    assert first.to_json() == second.to_json()


def test_a_rank_that_never_comes_is_an_error_within_the_time(capfd):
    first, second = on_ranks(small_jobs.gathered, LENGTHS, 1)

    assert second == "stayed away"
    assert first.startswith("not all of 2 ranks handed over their record within 2 s")


def test_ranks_are_put_together_through_files_as_by_a_collective(tmp_path):
    records = on_ranks(small_jobs.saved, LENGTHS, tmp_path)

    assert sorted(file.name for file in tmp_path.iterdir()) == ["rank-0-of-2.json", "rank-1-of-2.json"]
    assert Report.load(tmp_path).to_json() == Report(merge(records)).to_json()


def test_a_rank_that_is_watched_for_longer_leaves_no_verdict():
    with pytest.raises(ValueError, match=r"incomplete window: the ranks measured \[2, 1\] windows"):
        merge(on_ranks(small_jobs.unequal_windows))
