"""No fault takes from the machine what others need, and its verdict names the limit."""

import json
import os

import pytest

from mutation import limits
from tests.mutation.project import campaign, lay_out

pytestmark = pytest.mark.spawn

GREEDY = {
    "hoard": "memory limit: ",
    "hoard_elsewhere": "memory limit: ",
    "chatter": "output limit: ",
    "fill": "disk limit: ",
}


def test_what_exceeds_a_limit_is_ended_with_its_name(tmp_path):
    project = lay_out(tmp_path, "greedy")
    campaign(project, "first", "--patient", *GREEDY)

    verdicts = json.loads((project / "out" / "summary.json").read_text())["faults"]
    assert dict.fromkeys(GREEDY, "crash only") == {name: verdict["status"] for name, verdict in verdicts.items()}
    cells = [json.loads(line) for line in (project / "out" / "cells.jsonl").read_text().splitlines()]
    told = {cell["fault"]: cell["message"] for cell in cells if cell["part"] == "first"}
    assert GREEDY == {name: message[: len(GREEDY[name])] for name, message in told.items()}


def test_memory_holds_what_descendants_hold(tmp_path):
    before = limits.memory(os.getpid(), enough=0)
    ready, done = os.pipe(), os.pipe()
    pid = os.fork()
    if pid == 0:
        kept = b"x" * 2**28
        os.write(ready[1], b"1")
        os.read(done[0], 1)
        os._exit(len(kept) % 2)
    os.read(ready[0], 1)
    held = limits.memory(os.getpid(), enough=0)
    os.write(done[1], b"1")
    os.waitpid(pid, 0)

    assert held - before == pytest.approx(0.25, abs=0.05)


def test_size_counts_every_file_below(tmp_path):
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "b").write_bytes(b"x" * 2**20)
    (tmp_path / "c").write_bytes(b"x" * 2**20)

    assert limits.size(tmp_path) == 2**21
