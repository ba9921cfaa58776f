"""The commands that README, CONTRIBUTING and the issues name exist, and CI runs them."""

import configparser
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
ENVIRONMENTS = {
    "campaigns",
    "closed-forms",
    "contracts",
    "docs",
    "lint",
    "merge",
    "mutation",
    "newest",
    "nightly",
    "oldest",
    "package",
    "pinned",
    "planted",
    "property",
    "prove",
    "report",
    "types",
}


# The first takes a name, the second folders, the next up to an hour, the last a torch of their own.
NOT_PER_COMMIT = {"prove", "merge", "mutation", "nightly", "oldest", "newest", "pinned"}


def environments_in_ci() -> list[str]:
    script = (ROOT / ".ci" / "run").read_text()
    return re.search(r"^for name in (.+); do$", script, re.MULTILINE).group(1).split()


def test_every_environment_exists():
    tox = configparser.ConfigParser(interpolation=None)
    tox.read(ROOT / "tox.ini")

    assert ENVIRONMENTS == {name.removeprefix("testenv:") for name in tox if name.startswith("testenv:")}


def test_ci_runs_every_environment_but_those_of_the_night():
    assert ENVIRONMENTS - NOT_PER_COMMIT == set(environments_in_ci())


def test_ci_starts_with_the_test_command_of_the_readme():
    first = environments_in_ci()[0]

    assert f"tox run -e {first}\n" in (ROOT / "README.md").read_text()


def test_the_workflows_name_environments_that_exist():
    workflows = [file.read_text() for file in (ROOT / ".github" / "workflows").glob("*.yml")]
    named = {name for text in workflows for name in re.findall(r"tox run -e (\S+)", text)}

    assert {"planted", "merge", "mutation", "oldest", "newest", "pinned"} == named & ENVIRONMENTS == named
    assert any("run: bash .ci/run\n" in text for text in workflows)


def test_without_what_tests_need_the_command_says_what_to_install():
    script = "import runpy, sys; sys.modules['pytest'] = None; runpy.run_module('mutation', run_name='__main__')"

    done = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, timeout=60)

    assert 1 == done.returncode
    assert done.stderr.startswith("python -m mutation: there is no module pytest: install what tests need")
