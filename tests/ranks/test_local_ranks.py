"""A pool of local ranks answers, and whatever a rank does wrong is an error that leaves nothing behind."""

import os
import subprocess
import sys
import tempfile
import time
from multiprocessing.util import get_temp_dir
from pathlib import Path

import pytest

from instrument.local_ranks import LocalRanks
from tests.ranks import small_jobs
from tests.ranks.ended import assert_gone, running

pytestmark = pytest.mark.spawn
ROOT = Path(__file__).parents[2]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Where the pools of a test put their files."""
    # Made once for all of this process, and not to be in the folder of one test.
    get_temp_dir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


@pytest.fixture
def ranks(folder):
    with LocalRanks(2, seconds=20) as started:
        yield started


@pytest.fixture
def impatient(ranks):
    """Ranks that have imported what they need, and get two seconds from now on."""
    ranks.run(small_jobs.process)
    ranks.seconds = 2
    return ranks


def test_each_rank_answers_in_its_place(ranks):
    assert ranks.run(small_jobs.summed, 2) == [6, 6]


def test_a_job_runs_in_the_folder_of_the_process_that_asks(ranks, tmp_path, monkeypatch):
    first = tmp_path / "first"
    first.mkdir()
    monkeypatch.chdir(first)
    assert ranks.run(small_jobs.where) == [str(first)] * 2

    # The folder in which the ranks were started may be gone.
    monkeypatch.chdir(tmp_path)
    first.rmdir()
    assert ranks.run(small_jobs.where) == [str(tmp_path)] * 2


@pytest.mark.parametrize("count", [1, 3])
def test_any_number_of_ranks_is_started(count, folder):
    with LocalRanks(count, seconds=20) as ranks:
        assert ranks.run(small_jobs.summed, 1) == [sum(range(1, count + 1))] * count


def test_ranks_stay_for_the_next_job(ranks):
    assert ranks.run(small_jobs.process) == ranks.run(small_jobs.process)


def test_a_rank_has_one_thread(ranks):
    assert ranks.run(small_jobs.threads) == [1, 1]


def test_a_rank_that_raises_is_an_error_with_its_traceback(ranks):
    with pytest.raises(RuntimeError, match=r"rank 1: Traceback[\s\S]*in one_raises[\s\S]*KeyError: 'the reason'"):
        ranks.run(small_jobs.one_raises)


def test_a_rank_that_dies_is_an_error_that_names_its_exit_code(ranks):
    with pytest.raises(RuntimeError, match="rank 1: died, exit code -9"):
        ranks.run(small_jobs.one_dies)


def test_a_rank_that_hangs_is_an_error_that_says_where(impatient, folder):
    began = time.monotonic()
    with pytest.raises(RuntimeError, match=r"rank 0: not through[\s\S]*in summed[\s\S]*rank 1: [\s\S]*one_sleeps"):
        impatient.run(small_jobs.one_sleeps, folder / "pid")
    assert time.monotonic() - began < 20


def test_an_answer_that_cannot_be_sent_is_an_error(ranks):
    with pytest.raises(RuntimeError, match=r"rank 0: Traceback[\s\S]*lambda"):
        ranks.run(small_jobs.returns_what_no_pickle_holds)


@pytest.mark.parametrize("job", [small_jobs.one_raises, small_jobs.one_dies])
def test_after_a_failure_new_ranks_answer(job, ranks):
    before = ranks.run(small_jobs.process)
    with pytest.raises(RuntimeError, match="ranks failed"):
        ranks.run(job)

    assert ranks.run(small_jobs.summed, 1) == [3, 3]
    assert not set(before) & set(ranks.run(small_jobs.process))


def test_a_rank_that_died_between_two_jobs_is_an_error(ranks):
    first, _ = ranks.run(small_jobs.process)
    os.kill(first, 9)
    assert_gone([first])

    with pytest.raises(RuntimeError, match="rank 0: died, exit code -9"):
        ranks.run(small_jobs.process)


def test_nothing_is_left_of_a_pool_that_is_closed(folder):
    with LocalRanks(2, seconds=20) as ranks:
        pids = ranks.run(small_jobs.process)
        assert running(pids) == [str(pid) for pid in pids]

    assert_gone(pids)
    assert list(folder.iterdir()) == []


def test_what_a_hanging_rank_had_started_is_gone_too(impatient, tmp_path_factory):
    told = tmp_path_factory.mktemp("told") / "pid"
    with pytest.raises(RuntimeError, match="not through in time"):
        impatient.run(small_jobs.one_sleeps, told)

    assert_gone([int(told.read_text())])


def test_ranks_end_with_the_process_that_started_them():
    script = (
        "import os, signal\n"
        "from instrument.local_ranks import LocalRanks\n"
        "from tests.ranks import small_jobs\n"
        "if __name__ == '__main__':\n"
        "    print(*LocalRanks(2).run(small_jobs.process), flush=True)\n"
        "    os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    path = os.pathsep.join([str(ROOT), *filter(None, sys.path)])

    done = subprocess.run(
        [sys.executable, "-c", script], env={**os.environ, "PYTHONPATH": path}, capture_output=True, text=True
    )

    assert done.returncode == -9, done.stderr
    assert_gone([int(pid) for pid in done.stdout.split()])


@pytest.mark.parametrize("arguments", [{"ranks": 0}, {"seconds": 0}, {"seconds": float("nan")}])
def test_a_pool_that_could_not_work_is_refused(arguments):
    with pytest.raises(ValueError, match=next(iter(arguments))):
        LocalRanks(**arguments)
