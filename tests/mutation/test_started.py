"""A fault is on, and counted, in every process that a test starts."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from faults._started import Tally, everywhere
from tests.mutation.project import ROOT, campaign, lay_out

pytestmark = pytest.mark.spawn
SITE = ROOT / "faults" / "_site"


@pytest.fixture
def project(tmp_path):
    return lay_out(tmp_path, "started")


def summary_of(project):
    return json.loads((project / "out" / "summary.json").read_text())["faults"]


def cells_of(project, fault, part):
    lines = (project / "out" / "cells.jsonl").read_text().splitlines()
    return [cell for cell in map(json.loads, lines) if (cell["fault"], cell["part"]) == (fault, part)]


def orders(project, *seams, fault=""):
    """The environment of a process that a test starts while these seams are counted, or the fault is on."""
    (project / "hits").touch()
    place = f"planted_faults:FAULTS:{fault}" if fault else ""
    path = os.pathsep.join([str(project), str(ROOT)])
    text = "\n".join([str(project / "hits"), place, path, *seams])
    return {**os.environ, "PYTHONPATH": str(SITE), "WEIGHBRIDGE_PLANTED": text}


def printed(project, env, *command):
    done = subprocess.run([sys.executable, *command], cwd=project, env=env, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert "sitecustomize" not in done.stderr
    return done.stdout


def test_each_way_of_starting_a_process_is_reached_killed_and_counted(project):
    campaign(project, "matrix", "in_fork", "in_spawn", "in_subprocess", "before_exit")

    told = {name: (verdict["status"], verdict["hits"]) for name, verdict in summary_of(project).items()}
    assert told == {
        "in_fork": ("killed", 2),
        "in_spawn": ("killed", 2),
        "in_subprocess": ("killed", 1),
        "before_exit": ("killed", 1),
    }


def test_calls_are_booked_on_the_test_that_started_the_process(project):
    campaign(project, "matrix", "in_fork", "in_spawn", "before_exit")

    assert {cell["test"].partition("::")[2]: cell["hits"] for cell in cells_of(project, "baseline", "full")} == {
        "test_pool[fork]": {"toy:in_fork": 2},
        "test_pool[spawn]": {"toy:in_spawn": 2},
        "test_subprocess": {},
        "test_process_that_exits_at_once": {"toy:before_exit": 1},
        "test_process_that_finds_an_old_release": {},
    }


def test_a_seam_that_only_a_started_process_lacks_is_stale(project):
    told = campaign(project, "first", "in_old_release").stdout

    assert summary_of(project)["in_old_release"]["status"] == "stale"
    assert "in a started process: LookupError: toy: toy is not installed" in told


def test_torchrun_has_the_fault_in_every_rank(project):
    env = orders(project, "toy:in_rank", fault="in_rank")

    printed(project, env, "-m", "torch.distributed.run", "--standalone", "--nproc_per_node=2", "ranks.py", "sums")

    assert [(project / "sums" / rank).read_text() for rank in "01"] == ["5", "5"]
    assert (project / "hits").read_text() == "0\n0\n"


@pytest.mark.slow
def test_launchers_are_reached_killed_and_counted(tmp_path):
    project = lay_out(tmp_path, "started", "launched")

    campaign(project, "matrix", "in_rank")

    assert summary_of(project)["in_rank"]["status"] == "killed"
    assert {cell["test"].partition("::")[2]: cell["hits"] for cell in cells_of(project, "in_rank", "first")} == {
        "test_ranks[torchrun]": {"toy:in_rank": 2},
        "test_ranks[accelerate]": {"toy:in_rank": 1},
    }


def test_a_process_that_does_not_import_the_seam_loads_nothing(project):
    env = orders(project, "toy:in_spawn", fault="in_spawn")
    show = "import sys; print({'faults', 'mutation', 'inspect'} & {*sys.modules})"

    assert printed(project, env, "-c", show) == "set()\n"


def test_the_path_of_the_started_process_stays(project):
    env = orders(project, "toy:in_spawn", fault="in_spawn")

    compare = "import sys; kept = [*sys.path]; import toy; print(kept == sys.path, toy.in_spawn(1))"

    assert printed(project, env, "-c", compare) == "True 3\n"


def test_another_sitecustomize_still_runs(project):
    (project / "sitecustomize.py").write_text("import builtins; builtins.customized = True")
    env = orders(project, "toy:in_spawn", fault="in_spawn")
    env["PYTHONPATH"] += os.pathsep + str(project)

    assert printed(project, env, "-c", "import toy; print(customized, toy.in_spawn(1))") == "True 3\n"


def test_a_module_that_python_has_imported_before_is_counted_too(project):
    env = orders(project, "posixpath:basename")

    assert printed(project, env, "-c", "import os; print(os.path.basename('a/b'))") == "b\n"
    assert "0\n" in (project / "hits").read_text()


def test_several_seams_keep_their_numbers(project):
    env = orders(project, "toy:in_fork", "posixpath:splitdrive", "toy:in_spawn")

    printed(project, env, "-c", "import toy; toy.in_spawn(1); toy.in_fork(1); toy.in_spawn(1)")

    assert (project / "hits").read_text() == "2\n0\n2\n"


def test_a_fault_that_cannot_be_found_is_told_and_the_process_runs_on(project):
    env = orders(project, "toy:in_spawn", fault="renamed")

    assert printed(project, env, "-c", "import toy; print(toy.in_spawn(1))") == "2\n"
    assert (project / "hits").read_text().startswith("!LookupError: planted_faults:FAULTS holds no fault 'renamed'")


@pytest.mark.parametrize(("told", "error"), [("LookupError", LookupError), ("OSError", RuntimeError)])
def test_what_a_started_process_tells_is_raised(tmp_path, told, error):
    (tmp_path / "hits").write_text(f"0\n!{told}: the reason\n")

    with pytest.raises(error, match=f"^in a started process: {told}: the reason$"):
        Tally(str(tmp_path / "hits"), {"toy:f": 0}, os.getpid()).total()


def test_a_forked_process_counts_into_the_file_once(tmp_path):
    with everywhere(["posixpath:basename"], tmp_path) as calls:
        os.path.basename("a")
        before = dict(calls())
        pid = os.fork()
        if pid == 0:
            os.path.basename("b")
            os._exit(0)
        os.waitpid(pid, 0)
        os.path.basename("c")

        assert [before, calls(), calls()] == [{"posixpath:basename": count} for count in (1, 3, 3)]


def test_the_environment_is_what_it_was_before(tmp_path, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", "kept")
    with everywhere(["posixpath:basename"], tmp_path):
        assert os.environ["PYTHONPATH"].split(os.pathsep) == [str(SITE), "kept"]

    assert (os.environ["PYTHONPATH"], "WEIGHBRIDGE_PLANTED" in os.environ) == ("kept", False)


def test_nothing_is_asked_of_a_process_outside_of_a_campaign(project):
    env = {**os.environ, "PYTHONPATH": str(SITE)}
    env.pop("WEIGHBRIDGE_PLANTED", None)

    assert printed(project, env, "-c", "import toy; print(toy.in_spawn(1))") == "2\n"
    assert not Path(project, "hits").exists()
