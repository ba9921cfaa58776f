"""No architecture takes the sweep down: a crash, a hang and a lack of memory cost one process, and say so."""

import os
import signal
import threading
import time

import pytest
import torch

from instrument.atlas import sweep as module
from instrument.atlas.cell import NO_READING, OK, Cell
from instrument.atlas.checks import Check

pytestmark = pytest.mark.spawn


@pytest.fixture
def sweep(monkeypatch):
    """Sweep with given checks in place of all; forked, so that they are there in the processes."""

    def run(names, *runs, **limits):
        checks = [Check(f"check {i}", "", run, lambda subject: "\n\n") for i, run in enumerate(runs)]
        monkeypatch.setattr(module, "all_checks", lambda head: checks)
        monkeypatch.setattr(module, "start_method", lambda: "fork")
        return {result.name: result for result in module.sweep(names, **limits)}

    return run


def fine(subject):
    """A check that finds nothing."""
    return Cell(OK, 0.0, "fine")


def test_each_architecture_answers_every_check(sweep):
    found = sweep(["llama", "gpt2"], fine, fine)

    assert {"llama": "LlamaForCausalLM", "gpt2": "GPT2LMHeadModel"} == {r.name: r.model for r in found.values()}
    assert all({"check 0": OK, "check 1": OK} == {k: c.status for k, c in r.cells.items()} for r in found.values())
    assert all(r.parameters > 0 and r.seconds > 0 and r.reason == "" for r in found.values())
    assert 32 == found["gpt2"].config["n_embd"]


def test_a_crash_costs_the_checks_after_it_and_no_other_architecture(sweep):
    def crash(subject):
        if subject.name == "llama":
            os.kill(os.getpid(), signal.SIGKILL)
        return fine(subject)

    found = sweep(["llama", "gpt2"], fine, crash, fine, workers=1)

    assert [OK, NO_READING, NO_READING] == [c.status for c in found["llama"].cells.values()]
    assert "the process ended with exit code -9, in the check 'check 1'" == found["llama"].cells["check 2"].said
    assert [OK, OK, OK] == [c.status for c in found["gpt2"].cells.values()]


def test_a_hang_is_stopped(sweep):
    start = time.monotonic()

    found = sweep(["llama"], fine, lambda subject: time.sleep(600), seconds=10)

    assert time.monotonic() - start < 60
    assert [OK, NO_READING] == [c.status for c in found["llama"].cells.values()]
    assert "stopped after 10 s, in the check 'check 1'" == found["llama"].cells["check 1"].said


def test_memory_is_bounded_and_the_next_check_still_runs(sweep):
    def large(subject):
        torch.empty(2**31, dtype=torch.uint8)
        return fine(subject)

    found = sweep(["llama"], large, fine, gigabytes=1)

    assert [NO_READING, OK] == [c.status for c in found["llama"].cells.values()]
    assert "memory" in found["llama"].cells["check 0"].said


def test_an_error_is_the_answer_in_one_line(sweep):
    def broken(subject):
        raise ValueError("no such\nthing")

    assert Cell(NO_READING, None, "ValueError: no such thing") == sweep(["llama"], broken)["llama"].cells["check 0"]


def test_what_cannot_be_built_says_why(sweep):
    found = sweep(["musicgen"], fine)["musicgen"]

    assert "MusicgenConfig" in found.reason
    assert {} == found.cells


def test_a_thread_that_is_about_to_end_is_waited_for():
    thread = threading.Thread(target=time.sleep, args=(0.2,))
    thread.start()

    module.start_method()

    assert not thread.is_alive()


def test_processes_are_forked_only_without_threads():
    assert ("fork", "spawn")[len(module.threading.enumerate()) > 1] == module.start_method()
