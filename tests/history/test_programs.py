"""A program that hangs, crashes or leaves others behind is ended with all that it started."""

import threading
import time
from pathlib import Path

import pytest

from instrument.history.programs import Failed, Programs

LEAVES_ONE = "sleep 600 & echo $! > left; "


def gone(file):
    """Whether the process whose number a file holds has ended; one that nobody has asked for yet has too."""
    deadline = time.monotonic() + 10
    status = Path("/proc", Path(file).read_text().strip(), "stat")
    while time.monotonic() < deadline:
        if not status.exists() or ") Z " in status.read_text():
            return True
        time.sleep(0.05)
    return False


def run(text, seconds=30.0):
    return Programs().run(["sh", "-c", text], seconds)


def test_what_a_program_said_is_returned():
    assert run("echo one >&2; echo two") == "one\n"


def test_a_late_program_ends_with_what_it_started():
    with pytest.raises(RuntimeError, match=r"^not done after 0\.5 s$"):
        run(LEAVES_ONE + "wait", 0.5)

    assert gone("left")


def test_what_a_program_leaves_behind_ends_with_it_and_is_not_waited_for():
    start = time.monotonic()

    run(LEAVES_ONE)

    assert time.monotonic() - start < 10
    assert gone("left")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("echo Traceback >&2; echo KeyError: gone >&2; exit 1", "KeyError: gone"),
        ("echo noise >&2; echo ERROR: no such release >&2; echo hint >&2; exit 1", "ERROR: no such release"),
        ("exit 3", "exit status 3"),
    ],
)
def test_a_program_that_fails_gives_its_last_word(text, said):
    with pytest.raises(Failed, match=f"^{said}$"):
        run(text)


def test_a_crash_is_told_by_its_signal():
    with pytest.raises(RuntimeError, match=r"^ended by SIGSEGV$") as crash:
        run("kill -SEGV $$")

    assert type(crash.value) is RuntimeError


def test_all_programs_end_at_once_and_none_starts_after():
    programs, ended = Programs(), []

    def wait():
        try:
            programs.run(["sh", "-c", LEAVES_ONE + "wait"], 600)
        except RuntimeError as why:
            ended.append(str(why))

    waiting = threading.Thread(target=wait)
    waiting.start()
    while not Path("left").exists() or not Path("left").read_text():
        time.sleep(0.02)
    programs.end_all()
    waiting.join(30)

    assert ended == ["ended by SIGKILL"]
    assert gone("left")
    with pytest.raises(RuntimeError, match=r"^interrupted$"):
        programs.run(["true"], 1)
