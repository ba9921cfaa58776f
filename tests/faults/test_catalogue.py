"""Every file is a fault with a name and a source, and a list of them costs nothing."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import faults
from faults import CATALOGUE
from faults._catalogue import collect
from faults._fault import emulated_from
from faults._seam import find
from tests.faults.scenarios import SCENARIOS

every_fault = pytest.mark.parametrize("fault", CATALOGUE.values(), ids=CATALOGUE)
OWN = [name for name, fault in CATALOGUE.items() if fault.library == "instrument"]
REPORTED = [name for name in CATALOGUE if name not in OWN]

GOOD = """
from faults import Fault

FAULT = Fault(
    family="masks", library="lib", seam="lib:f", source="https://example.org", year=2024, mechanism="Wrong.",
    effect="closed_forms.aggregation:token_mean", quantity="weights", visible="nowhere", patch=lambda f: f,
)
"""


@pytest.fixture
def package(tmp_path, monkeypatch):
    """Writes files of a package of faults and collects them."""
    monkeypatch.syspath_prepend(tmp_path)

    def write(name, files):
        for file, text in {"__init__.py": "", **files}.items():
            path = tmp_path / name / file
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
            (path.parent / "__init__.py").touch()
        return collect([str(tmp_path / name)], name)

    return write


def test_names_are_the_names_of_files_in_order():
    files = Path(faults.__file__).parent.glob("[!_]*/[!_]*.py")

    assert list(CATALOGUE) == sorted(file.stem for file in files)


def test_every_folder_is_walked(package):
    found = package("walked", {"b/second.py": GOOD, "a/third.py": GOOD, "c/first.py": GOOD, "_private.py": ""})

    assert list(found) == ["first", "second", "third"]


def test_what_faults_share_is_no_fault(package):
    assert ["one"] == list(package("sharing", {"a/one.py": GOOD, "a/_shared.py": "PATCH = None"}))


def test_a_file_without_a_fault_stops_the_listing(package):
    with pytest.raises(LookupError, match=r"^lacking\.a\.empty has FAULT=None: every file there must hold one FAULT"):
        package("lacking", {"a/good.py": GOOD, "a/empty.py": ""})


def test_a_broken_file_stops_the_listing(package):
    with pytest.raises(ModuleNotFoundError, match="no_such_thing"):
        package("broken", {"a/bad.py": "import no_such_thing"})


def test_a_name_used_twice_stops_the_listing(package):
    with pytest.raises(ValueError, match=r"^same names both doubled\.a\.same and doubled\.b\.same: rename one"):
        package("doubled", {"a/same.py": GOOD, "b/same.py": GOOD})


@pytest.mark.parametrize("name", REPORTED)
def test_source_is_a_link_of_a_year(name):
    fault = CATALOGUE[name]

    assert fault.source.startswith("https://")
    assert fault.year > 2015


@pytest.mark.parametrize("name", OWN)
def test_a_fault_of_the_instrument_claims_no_report(name):
    fault = CATALOGUE[name]

    assert (fault.source, fault.year) == ("", 0)


@pytest.mark.parametrize(
    ("name", "project"),
    [
        ("mean_of_micro_batch_means", ""),
        ("clipped_by_norm_of_some", ""),
        ("draws_random_number", ""),
        ("attention_drops_mask", "NVIDIA/Megatron-LM"),
        ("clipped_by_group", "huggingface/transformers"),
        ("rewards_scaled_anyway", "arxiv.org"),
    ],
)
def test_a_fault_that_another_project_had_is_told_as_an_emulation(name, project):
    assert emulated_from(CATALOGUE[name]) == project


def test_no_source_is_used_twice():
    sources = [CATALOGUE[name].source for name in REPORTED]

    assert sorted(set(sources)) == sorted(sources)


@pytest.mark.parametrize("name", CATALOGUE)
def test_nothing_that_new_left_to_do_is_left(name):
    file = next(Path(faults.__file__).parent.glob(f"*/{name}.py"))

    assert "TODO" not in file.read_text()


@every_fault
def test_mechanism_is_one_sentence(fault):
    assert fault.mechanism.endswith(".")
    assert ". " not in fault.mechanism


@every_fault
def test_seam_resolves(fault):
    assert find(fault.seam, fault.library).__name__ == fault.seam.rpartition(".")[2].rpartition(":")[2]


@pytest.mark.parametrize("name", CATALOGUE)
def test_fault_lies_in_the_folder_of_its_library(name):
    fault = CATALOGUE[name]
    folder = next(Path(faults.__file__).parent.glob(f"*/{name}.py")).parent.name

    assert fault.seam.split(".")[0] == folder
    assert fault.library.split(">=")[0] == folder


@every_fault
def test_scenario_exists(fault):
    assert fault.visible in SCENARIOS


@pytest.mark.spawn
def test_listing_imports_no_library():
    listing = (
        "import faults, sys; assert faults.CATALOGUE;"
        "assert not {'torch', 'numpy', 'transformers', 'accelerate'} & set(sys.modules), sorted(sys.modules)"
    )
    path = os.pathsep.join(filter(None, sys.path))

    done = subprocess.run(
        [sys.executable, "-c", listing], env={**os.environ, "PYTHONPATH": path}, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
