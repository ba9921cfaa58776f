"""The commands that README, CONTRIBUTING and the issues name exist, and CI runs them."""

import configparser
import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
ENVIRONMENTS = {
    "closed-forms",
    "contracts",
    "lint",
    "package",
    "planted",
    "property",
    "prove",
    "report",
    "types",
}


def environments_in_ci() -> list[str]:
    script = (ROOT / ".ci" / "run").read_text()
    return re.search(r"^for name in (.+); do$", script, re.MULTILINE).group(1).split()


def test_every_environment_exists():
    tox = configparser.ConfigParser(interpolation=None)
    tox.read(ROOT / "tox.ini")

    assert ENVIRONMENTS == {name.removeprefix("testenv:") for name in tox if name.startswith("testenv:")}


def test_ci_runs_every_environment_that_takes_no_name():
    assert ENVIRONMENTS - {"prove"} == set(environments_in_ci())


def test_ci_starts_with_the_test_command_of_the_readme():
    first = environments_in_ci()[0]

    assert f"tox run -e {first}\n" in (ROOT / "README.md").read_text()
