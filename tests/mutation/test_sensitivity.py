"""How weak a fault may be: the rules of the table."""

import json
from types import SimpleNamespace

import pytest

from faults import CATALOGUE
from mutation.sensitivity import Sensitivity, forms, insensitive, sensitivities, suite_for, write
from mutation.status import Status

NAMES = ["summed_not_averaged", "pairs_added_up"]


def verdict(name, status=Status.KILLED, killers=("a.py::t",)):
    return SimpleNamespace(name=name, status=status, killers=list(killers) if status is Status.KILLED else [])


def test_each_fault_is_asked_for_at_each_strength():
    weak = forms(NAMES, [0.1, 1e-6])

    assert list(weak) == [f"{name}@{strength}" for name in NAMES for strength in ("0.1", "1e-06")]
    assert {fault.seam for fault in weak.values()} == {CATALOGUE[name].seam for name in NAMES}


@pytest.mark.parametrize("asked", [(["own_loss_ignored"], [0.1]), (NAMES, [0.1, 2.0]), (["nothing"], [0.1])])
def test_what_has_no_such_form_is_refused(asked):
    with pytest.raises(ValueError, match=r"is no weaker form of a fault: give a strength above 0 .* pairs_added_up"):
        forms(*asked)


def test_the_suite_is_what_notices_them_at_full_strength():
    killers = {NAMES[0]: ["b.py::t", "a.py::t"], NAMES[1]: ["a.py::t"], "other": ["c.py::t"]}

    assert suite_for(NAMES, killers) == ["a.py::t", "b.py::t"]
    with pytest.raises(ValueError, match=r"^who notices pairs_added_up is not known: run `python -m mutation prove`"):
        suite_for(NAMES, {NAMES[0]: ["a.py::t"]})


def test_the_smallest_strength_is_the_last_before_the_first_that_passes_unseen():
    tried = {
        "f@0.1": Status.KILLED,
        "f@0.01": Status.KILLED,
        "f@0.001": Status.SURVIVED,
        # Noticed by accident, below one that was not.
        "f@0.0001": Status.KILLED,
        "g@0.1": Status.FLAKY,
        "g@0.01": Status.KILLED,
    }

    first, second = sensitivities([verdict(name, status) for name, status in reversed(tried.items())])

    assert (first.fault, first.smallest, first.test) == ("f", 0.01, "a.py::t")
    assert list(first.statuses) == [0.1, 0.01, 0.001, 0.0001]
    assert (second.fault, second.smallest, second.test) == ("g", None, "")


def test_what_misses_the_aim_is_named():
    found = [Sensitivity("f", 1e-4, "t", {}), Sensitivity("g", 1e-3, "t", {}), Sensitivity("h", None, "", {})]

    assert insensitive(found, 1e-4) == [
        "g: noticed down to 0.001, the aim is 0.0001",
        "h: noticed down to no strength, the aim is 0.0001",
    ]


def test_the_file_holds_it_all(tmp_path):
    write([Sensitivity("f", 1e-4, "t", {0.1: "killed", 1e-4: "killed"})], 1e-4, tmp_path / "s.json")

    assert json.loads((tmp_path / "s.json").read_text()) == {
        "aim": 1e-4,
        "faults": [{"fault": "f", "smallest": 1e-4, "test": "t", "statuses": {"0.1": "killed", "0.0001": "killed"}}],
    }
