"""`weighbridge run`: however a script ends and whatever it does to its streams, that is told, and its status kept."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.instrument.scripts import LOOP, run, script

ROOT = Path(__file__).parents[2]
US = ("-m", "instrument.cli", "run")
SAID = "weighbridge: NO VERDICT: the script"


def in_a_process(*command):
    """What a command says, and its status."""
    there = {**os.environ, "PYTHONPATH": str(ROOT)}
    return subprocess.run([sys.executable, *command], capture_output=True, text=True, env=there)


def both(text, *words, name="train.py"):
    """A script alone, and under the command."""
    script(f"import os, signal, sys\nprint('begins', flush=True)\n{text}", name)
    return in_a_process(name, *words), in_a_process(*US, name, *words)


@pytest.mark.spawn
@pytest.mark.parametrize(
    "text",
    [
        "del sys.argv",
        "sys.argv = []",
        "sys.argv[:] = sys.argv[1:]",
        "sys.stdout.close()",
        "sys.stderr.close()",
        "sys.stdout.close(); sys.stderr.close()",
        "sys.stdout = sys.stderr = None",
        "sys.stdout = open('mine.txt', 'w'); sys.stderr = sys.stdout; print('into a file')",
        "os.chdir('/'); print(os.path.dirname(__file__), sys.argv)",
        "print(__name__, __file__, __spec__, __package__, __cached__, type(__loader__).__name__)",
        "print(sys.argv, sys.path[0], sorted(globals()))",
        "import atexit; here = 7; atexit.register(lambda: print(sys.modules['__main__'].here))",
        "sys.exit(3)",
        "sys.exit(256)",
        "sys.exit(-1)",
        "sys.exit('gone')",
        "import threading; threading.Thread(target=lambda: print('late')).start()",
        "print(sys.stdin.read())",
        "raise KeyboardInterrupt",
        "os.kill(os.getpid(), signal.SIGINT)",
        "os._exit(4)",
        "print('lost with the buffer', end=''); sys.stdout.flush(); os._exit(0)",
        "sys.modules.pop('__main__')",
    ],
)
def test_a_script_ends_as_it_does_alone_and_is_told(text):
    alone, told = both(text, "--windows", "x", "-m", "--json")

    assert (alone.stdout, alone.returncode) == (told.stdout, told.returncode)
    # What a script puts into the place of its own stream gets nothing of ours.
    assert not Path("mine.txt").exists() or Path("mine.txt").read_text() == "into a file\n"
    assert 1 == told.stderr.count(SAID)


@pytest.mark.spawn
@pytest.mark.parametrize("signal", ["SIGTERM", "SIGKILL", "SIGABRT"])
def test_a_script_that_is_killed_dies_of_the_same_signal_and_is_told(signal):
    alone, told = both(f"os.kill(os.getpid(), signal.{signal})")

    assert (alone.stdout, alone.returncode) == (told.stdout, told.returncode)
    assert told.returncode < 0
    assert "weighbridge: NO VERDICT: the script's process was killed by a signal" in told.stderr


@pytest.mark.spawn
def test_what_a_script_forks_neither_tells_nor_sends_the_watchman_home():
    alone, told = both(
        "if os.fork() == 0: sys.exit(5)\nprint(os.wait()[1] >> 8, flush=True)\n"
        "if os.fork() == 0: os._exit(6)\nprint(os.wait()[1] >> 8, flush=True)\nos.kill(os.getpid(), signal.SIGKILL)"
    )

    assert "begins\n5\n6\n" == alone.stdout == told.stdout
    assert 1 == told.stderr.count("weighbridge: ") == told.stderr.count("killed by a signal")


@pytest.mark.spawn
def test_no_child_of_ours_stands_beside_those_of_the_script():
    alone, told = both("try: os.wait()\nexcept ChildProcessError: print('no child')")

    assert "begins\nno child\n" == alone.stdout == told.stdout


@pytest.mark.spawn
def test_a_folder_and_a_module_run_as_python_runs_them():
    Path("tool/part").mkdir(parents=True)
    look = "import sys\nprint(__name__, __file__, __package__, __spec__ and __spec__.name, sys.argv, sys.path[0])"
    for place in ("tool", "tool/part"):
        script("", f"{place}/__init__.py")
        script(look, f"{place}/__main__.py")

    for words in (("tool", "-x"), ("-m", "tool", "-x"), ("-m", "tool.part"), ("-m", "tool.part.__main__", "--json")):
        alone, told = in_a_process(*words), in_a_process(*US, *words)
        assert alone.stdout, alone.stderr
        assert (alone.stdout, alone.returncode) == (told.stdout, told.returncode)


@pytest.mark.spawn
@pytest.mark.parametrize("name", ["nowhere", "nowhere.inside", "empty"])
def test_a_module_that_is_not_there_is_named(name):
    Path("empty").mkdir()
    script("", "empty/__init__.py")

    told = in_a_process(*US, "-m", name)

    assert 1 == told.returncode
    assert "ModuleNotFoundError" in told.stderr
    assert f"{SAID} failed with ModuleNotFoundError" in told.stderr


def test_a_script_that_trains_in_a_thread_is_told():
    body = LOOP.replace("(4, 8)", "(6, 6)").replace("\n", "\n    ")
    head = "import hashlib, sys, threading, torch\nfrom transformers import LlamaConfig, LlamaForCausalLM\n"
    text = f"{head}def work():\n    if True:{body}\nthreading.Thread(target=work).start()\n"

    result = run(script(text))

    assert result.stderr.startswith("weighbridge: OK: every target weighs the same: token mean, w = 1/N\n")
    assert "step 3" in result.stdout


@pytest.mark.spawn
def test_a_script_that_leaves_at_once_has_its_verdict_and_fails_on_a_fault():
    name = script(LOOP + "    import os; sys.stdout.flush(); os._exit(0)\n")

    told = in_a_process(*US, "--json", "run.json", name)

    assert told.stderr.startswith("weighbridge: FAULT [mean-of-micro-batch-means]")
    assert 1 == told.returncode
    assert "mean-of-micro-batch-means" == json.loads(Path("run.json").read_text())["code"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--json", ".", "train.py"], "name a file in a folder that is there"),
        (["--html", f"{'a' * 300}.html", "train.py"], "File name too long: name another file"),
        (["--json", "a.out", "--html", "./a.out", "train.py"], "is the file of --json too"),
        (["--window", "3", "train.py"], "--window is no option of this command, and no file"),
        (["--windows", "0", "train.py"], "should be greater than or equal to 1"),
        (["--windows", "two", "train.py"], "unable to parse string as an integer"),
    ],
)
def test_what_cannot_be_meant_is_refused_before_anything_runs(words, said):
    script("print('ran')")

    result = run(*words)

    assert 2 == result.exit_code
    assert "ran" not in result.stdout
    assert said in " ".join(result.stderr.replace("│", " ").split())


def test_a_file_that_can_no_longer_be_written_is_named_and_the_other_is_written(tmp_path):
    gone = tmp_path / "gone"
    gone.mkdir()
    text = LOOP.replace("(4, 8)", "(6, 6)") + f"    import os; os.rmdir({str(gone)!r})\n"

    result = run("--json", gone / "run.json", "--html", tmp_path / "run.html", script(text))

    assert f"{gone / 'run.json'} was not written: No such file or directory" in result.stderr
    assert "OK: every target weighs the same" in (tmp_path / "run.html").read_text()
    assert 1 == result.exit_code
