"""What is installed: four names in the wheel, every requirement pinned."""

import configparser
import tomllib
import zipfile
from itertools import chain
from pathlib import Path

import pytest
from hatchling.builders.wheel import WheelBuilder
from packaging.requirements import Requirement

ROOT = Path(__file__).parents[2]


def requirements_of_the_project() -> list[str]:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    extras = project["project"]["optional-dependencies"].values()
    return [*project["build-system"]["requires"], *project["project"]["dependencies"], *chain(*extras)]


def requirements_of_tox() -> list[str]:
    tox = configparser.ConfigParser(interpolation=None)
    tox.read(ROOT / "tox.ini")
    # Stacks of other years hold what they name, and go by no constraints.
    pinned = [section for section in tox.values() if not section.get("base", "").startswith("release")]
    lists = [section.get(key, "") for section in pinned for key in ("deps", "requires")]
    return [line for line in "\n".join(lists).splitlines() if line]


def pins() -> dict[str, str]:
    lines = (ROOT / "constraints.txt").read_text().splitlines()
    return dict(line.split("==") for line in lines if not line.startswith("#"))


@pytest.fixture(scope="module")
def files_in_wheel(tmp_path_factory) -> list[str]:
    (wheel,) = WheelBuilder(str(ROOT)).build(directory=str(tmp_path_factory.mktemp("wheel")), versions=["standard"])
    with zipfile.ZipFile(wheel) as archive:
        return archive.namelist()


def test_wheel_holds_four_packages_and_no_tests(files_in_wheel):
    names = {name.split("/")[0] for name in files_in_wheel if ".dist-info/" not in name}

    assert {"closed_forms", "faults", "instrument", "mutation"} == names


def test_wheel_holds_what_the_exporters_read(files_in_wheel):
    read = {file.relative_to(ROOT).as_posix() for file in (ROOT / "mutation" / "export").glob("**/*.*")}
    others = {name for name in read if not name.endswith((".py", ".pyc"))}

    assert 6 == len(others)
    assert others <= set(files_in_wheel)


def test_every_requirement_is_pinned_inside_its_range():
    pinned = pins()
    required = [Requirement(line) for line in requirements_of_the_project() + requirements_of_tox()]

    assert [] == [str(each) for each in required if each.name not in pinned]
    assert [] == [str(each) for each in required if not each.specifier.contains(pinned[each.name])]


def test_torch_is_pinned_to_the_version_with_a_cpu_build():
    assert "2.13.0" == pins()["torch"]
