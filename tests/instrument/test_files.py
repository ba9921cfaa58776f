"""A file that is written is whole or as it was, in UTF-8; what could not be written is said in one line."""

import json
import os
import subprocess
import sys

import pytest

from instrument.files import write

# A limit on the size of files stands for a disk that is full.
LIMITED = (
    "import resource, sys; resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100));"
    "from instrument.files import write; write(sys.argv[1], 'x' * 1000)"
)


def python(*words, **environment):
    """A fresh Python."""
    return subprocess.run([sys.executable, *words], capture_output=True, text=True, env={**os.environ, **environment})


@pytest.mark.spawn
def test_a_text_is_written_in_utf_8_whatever_the_locale(tmp_path):
    code = "import sys; from instrument.files import write; write(sys.argv[1], '\\u00d7')"
    plain = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}

    assert 0 == python("-c", code, str(tmp_path / "told"), **plain).returncode
    assert "\u00d7".encode() == (tmp_path / "told").read_bytes()


@pytest.mark.spawn
def test_where_there_is_no_room_the_file_is_as_it_was(tmp_path):
    file = tmp_path / "told"
    file.write_text("before")

    ended = python("-c", LIMITED, str(file))

    assert "OSError" in ended.stderr
    assert ("before", [file]) == (file.read_text(), list(tmp_path.iterdir()))


def test_a_link_stays_a_link_to_what_is_replaced(tmp_path):
    (tmp_path / "link").symlink_to("whole")
    (tmp_path / "whole").write_text("before")

    write(tmp_path / "link", "after")

    assert (tmp_path / "link").is_symlink()
    assert "after" == (tmp_path / "whole").read_text()


@pytest.mark.spawn
@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no /dev/full here")
def test_a_report_that_nobody_can_read_is_written_to_its_file_and_told_of_in_a_line(tmp_path):
    words = ["report", "--only", "accumulation 4x2", "--json", str(tmp_path / "report.json")]
    with open("/dev/full", "w") as full:
        ended = subprocess.run(
            [sys.executable, "-m", "instrument.cli", *words], stdout=full, stderr=subprocess.PIPE, text=True
        )

    assert 1 == ended.returncode
    assert ended.stderr.rstrip().splitlines()[-1].startswith("weighbridge: what it writes has no room")
    assert "Traceback" not in ended.stderr
    assert "ok" == json.loads((tmp_path / "report.json").read_text())["checks"][0]["status"]


@pytest.mark.spawn
@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no /dev/full here")
def test_results_that_cannot_be_written_are_told_of_in_a_line():
    ended = python("-m", "instrument.cli", "legacy-ga", "/dev/full")

    assert 2 == ended.returncode
    assert "FILE /dev/full was not written: No space left on device" in " ".join(ended.stderr.replace("│", " ").split())
    assert "Traceback" not in ended.stderr
