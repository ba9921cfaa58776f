"""Every code block of the README runs, and prints what the README says that it prints."""

import contextlib
import io
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def blocks() -> list[tuple[str, str]]:
    """(language, text) of every fenced block, in order."""
    return re.findall(r"^```(\w*)\n(.*?)^```$", (ROOT / "README.md").read_text(), re.MULTILINE | re.DOTALL)


def pythons() -> list[int]:
    """Numbers of the blocks of Python."""
    return [number for number, (language, _) in enumerate(blocks()) if language == "python"]


def test_every_block_is_of_a_kind_that_is_run():
    assert {"python", "text", "console"} == {language for language, _ in blocks()}
    assert [number + 1 for number in pythons()] == [n for n, (language, _) in enumerate(blocks()) if language == "text"]


@pytest.mark.parametrize("number", range(3))
def test_a_python_block_prints_what_stands_below_it(number):
    assert len(pythons()) == 3
    at = pythons()[number]
    printed = io.StringIO()

    with contextlib.redirect_stdout(printed):
        exec(compile(blocks()[at][1], "README.md", "exec"), {})

    assert blocks()[at + 1][1] == printed.getvalue()


def test_console_blocks_are_run_here_or_by_ci():
    ci = (ROOT / ".ci" / "run").read_text()
    for command in [line for language, text in blocks() if language == "console" for line in text.splitlines()]:
        *install, last = command.split(" && ")
        assert install in ([], ["python -m pip install tox"])
        words = shlex.split(last)
        if words[:3] == ["tox", "run", "-e"]:
            assert re.search(rf"^for name in .*\b{words[3]}\b.*; do$", ci, re.MULTILINE)
        else:
            # The script of this environment, whether or not it is activated.
            script = Path(sys.executable).with_name(words[0])
            assert subprocess.run([script, *words[1:]], cwd=ROOT, stdout=subprocess.PIPE).returncode == 0
