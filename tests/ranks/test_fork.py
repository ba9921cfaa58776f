"""Ranks of a process that has not done anything yet are forked from it, and are what it is; others are not."""

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from tests.ranks.ended import assert_gone

pytestmark = pytest.mark.spawn
ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def told():
    """What a process of its own tells of its ranks, line by line."""
    script = """
        import os, signal, threading
        from faults import CATALOGUE, planted
        from faults._plant import swapped
        from tests.ranks import pool, small_jobs

        def doubled(original):
            return lambda x: 2 * original(x)

        with planted(next(iter(CATALOGUE.values()))):
            print(pool.is_fresh())
        with swapped("tests.ranks.small_jobs:summed", "tests", doubled, lambda: None):
            print(pool.on_ranks(small_jobs.summed, 1), pool.pool(2).start)
            print(pool.on_ranks(small_jobs.summed, 2))
        ended = threading.Event()
        threading.Thread(target=ended.wait).start()
        print(pool.is_fresh())
        ended.set()
        print(*pool.on_ranks(small_jobs.process), flush=True)
        os.kill(os.getpid(), signal.SIGKILL)
    """
    path = os.pathsep.join([str(ROOT), *filter(None, sys.path)])
    one_thread = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script)],
        env={**os.environ, **one_thread, "PYTHONPATH": path},
        capture_output=True,
        text=True,
    )
    assert done.returncode == -9, done.stderr
    return done.stdout.splitlines()


def test_what_is_on_in_a_fresh_process_is_on_in_its_ranks(told):
    assert told[1:3] == ["[6.0, 6.0] fork", "[12.0, 12.0]"]


def test_a_process_in_which_a_fault_is_planted_is_not_fresh(told):
    assert told[0] == "False"


def test_a_process_with_a_thread_is_not_fresh(told):
    assert told[3] == "False"


def test_forked_ranks_end_with_the_process_that_started_them(told):
    assert_gone([int(pid) for pid in told[4].split()])
