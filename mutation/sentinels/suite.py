"""The tests that must notice, and tests that stand behind one that takes its process down."""

import functools
import os
import signal
import subprocess
import tempfile
import time

import pytest
import toy
from hypothesis import given
from hypothesis import strategies as st


@pytest.mark.parametrize(
    "name",
    ["wrong", "harmless", "excused", "denied", "unmeasured", "raises", "once", "unplantable", "outdated", "litters"],
)
def test_adds_one(name):
    assert getattr(toy, name)(1) == 2


@pytest.mark.parametrize("name", ["segfaults", "exits", "interrupts"])
@pytest.mark.parametrize("turn", [1, 2])
def test_may_lose_its_process(name, turn):
    assert getattr(toy, name)(turn) == turn + 1


@pytest.mark.parametrize("turn", [1, 2, 3])
def test_may_hang(turn):
    assert toy.hangs(turn) == turn + 1


@given(st.integers(0, 100))
def test_enters_late(x):
    if x:
        assert toy.late(x) == x + 1


def test_leaves_its_folders_behind(tmp_path, record_property):
    record_property("folders", [str(tmp_path), tempfile.mkdtemp()])


def test_keeps_what_it_started_while_others_end():
    started = subprocess.run(["sh", "-c", "sleep 600 >&2 & echo $!"], stdout=subprocess.PIPE, check=True)
    time.sleep(1)

    os.kill(int(started.stdout), signal.SIGKILL)


def test_enters_without_looking():
    toy.measured_only(1)


@functools.cache
def kept():
    return toy.cached(1)


@pytest.mark.parametrize("turn", [1, 2])
def test_shares_a_cache(turn):
    assert kept() == 2
