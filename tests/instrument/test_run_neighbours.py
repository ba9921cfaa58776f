"""Whether a document of a packed row sees its neighbour, asked of a real packing script by `--leaks`."""

import json

import pytest

from faults import CATALOGUE, planted
from tests.instrument.scripts import EXAMPLES, run, script

# What these scripts do is theirs, as in a process of their own: libraries warn of their own names.
pytestmark = [pytest.mark.filterwarnings("default"), pytest.mark.usefixtures("fresh_accelerate")]

PACKED = (EXAMPLES / "sft_packing.py").read_text()


def told(tmp_path, *words):
    result = run("--stop", "--json", tmp_path / "run.json", *words, script(PACKED))
    return json.loads((tmp_path / "run.json").read_text()), result


def test_documents_that_are_kept_apart_are_told_to_be(tmp_path):
    found, result = told(tmp_path, "--leaks")

    assert "OK: every target weighs the same: token mean, w = 1/N" == found["said"]
    assert "  leaks: no leak: " in result.stderr
    assert found["leaks"]["sequences"]


def test_a_packed_row_that_nobody_searched_is_said_to_be_unsearched(tmp_path):
    found, result = told(tmp_path)

    assert "documents, and whether one sees another is asked by --leaks" in found["leaks_not_searched"]
    assert "  leaks: not searched: a row holds " in result.stderr
    assert 0 == result.exit_code


@pytest.mark.parametrize("fault", ["positions_run_on", "packing_not_detected", "cache_hides_packing"])
def test_a_document_that_sees_its_neighbour_is_said_to(fault, tmp_path):
    with planted(CATALOGUE[fault]) as hits:
        found, result = told(tmp_path, "--leaks")

    assert hits.count
    assert "leak" == found["code"]
    assert (
        "a document sees another: the loss of sequence 1 (row 0, tokens 14-27) depends on the tokens" in found["said"]
    )
    assert 1 == result.exit_code
