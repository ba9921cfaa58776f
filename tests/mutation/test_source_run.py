"""`python -m mutation source`, with the real mutmut, on projects in which every outcome occurs."""

import shutil

import pytest

from tests.mutation.toy_source import book_survival, edit, killers, lay_out, outcomes, source

pytestmark = pytest.mark.spawn


@pytest.fixture(scope="module")
def rules(tmp_path_factory):
    """The project with the rules, and a run over it."""
    project = lay_out(tmp_path_factory.mktemp("rules"))
    return project, *source(project)


@pytest.fixture(scope="module")
def matrix(rules):
    """The same with every test under every mutant."""
    project, *_ = rules
    return source(project, "--matrix")


@pytest.fixture(scope="module")
def first(tmp_path_factory):
    """A project in which all is well, and a run over it."""
    project = lay_out(tmp_path_factory.mktemp("good"), rules=False)
    return project, *source(project)


@pytest.fixture
def good(first, tmp_path):
    """A copy of that project with all that the run left there."""
    project, *ran = first
    return shutil.copytree(project, tmp_path / "copy"), *ran


def test_every_outcome_is_told_from_the_others(rules):
    *_, written = rules

    assert {
        "one_more": {"asserted"},
        "another": {"asserted"},
        "third": {"asserted"},
        "stumbles": {"error only"},
        "stumbles_then_judged": {"asserted"},
        "stumbles_often": {"error only"},
        "refuses": {"asserted", "survived"},
        "lives": {"survived"},
        "never_called": {"no tests"},
        "hangs": {"survived", "timeout"},
        "leaves": {"survived", "crashed"},
        "leaves_when_judged": {"asserted"},
        "of": {"asserted", "equivalent"},
    } == outcomes(written)


def test_canaries_are_not_scored(rules):
    *_, written = rules

    assert {"instrument/good.py", "instrument/other.py", "instrument/rules.py"} == set(written["modules"])


def test_both_scores_are_printed_and_written(rules):
    _, printed, _, written = rules
    total = written["total"]
    missed = total["survived"] + total["no tests"] + total["timeout"]
    shown = [f"{total['raw']:.1%}", f"{total['assertion']:.1%}"]

    assert total["mutants"] == sum(total[name] for name in total if name not in ("mutants", "raw", "assertion"))
    assert total["raw"] == (total["asserted"] + total["error only"]) / (total["mutants"] - 1)
    assert total["assertion"] == total["asserted"] / (total["asserted"] + missed)
    assert all(score in printed for score in shown)


def test_what_nobody_noticed_is_shown_with_its_diff(rules):
    _, printed, _, written = rules
    (diff,) = [
        mutant["diff"] for name, mutant in written["mutants"].items() if "lives" in name and "a / 2" in str(mutant)
    ]

    assert "-    return a * 2\n+    return a / 2" in diff
    assert "survived instrument.rules.lives (instrument.rules.x_lives__mutmut_" in printed
    assert "+    return a / 2" in printed


def test_low_scores_and_false_declarations_end_with_one(rules):
    _, printed, status, written = rules
    told = ["instead of surviving", "no such mutant", "raw score is", "assertion score is", "of instrument/rules.py"]

    assert 1 == status
    assert all(sentence in printed for sentence in written["wrong"])
    assert [True] * 5 == [part in sentence for part, sentence in zip(told, written["wrong"], strict=True)]


def test_a_run_stops_at_the_first_judgement(rules):
    *_, written = rules

    assert [["assert"]] * 2 == [list(kills.values()) for kills in killers(written, "one_more")]


def test_an_accident_does_not_end_the_search_for_a_judgement(rules):
    *_, written = rules
    expected = {"test_stumbles_first": "error", "test_judged_then": "assert"}

    assert [{f"tests/test_rules.py::{test}": kind for test, kind in expected.items()}] * 2 == killers(
        written, "stumbles_then_judged"
    )


def test_ten_accidents_end_the_search(rules):
    *_, written = rules

    assert [["error"] * 10] * 2 == [list(kills.values()) for kills in killers(written, "stumbles_often")]


def test_a_refusal_of_the_instrument_is_a_judgement(rules):
    *_, written = rules

    assert {"tests/test_rules.py::test_refuses": "refusal"} in killers(written, "refuses")


def test_a_matrix_names_every_test_that_notices(matrix):
    *_, written = matrix
    both = {"tests/test_good.py::test_one_more": "assert", "tests/test_good.py::test_one_more_again": "assert"}

    assert [both] * 2 == killers(written, "one_more")
    assert "matrix" == written["mode"]


def test_a_matrix_searches_on_after_any_number_of_accidents(matrix):
    *_, written = matrix

    assert {"asserted"} == outcomes(written)["stumbles_often"]


def test_a_hard_exit_loses_no_judgement(matrix):
    *_, written = matrix

    assert [{"tests/test_rules.py::test_judged_first": "assert"}] * 2 == killers(written, "leaves_when_judged")
    assert {"asserted"} == outcomes(written)["leaves_when_judged"]


def test_a_good_run_ends_with_zero(good):
    _, printed, status, written = good

    assert 0 == status, printed
    assert {"one_more": {"asserted"}, "another": {"asserted"}, "third": {"asserted"}} == outcomes(written)


def test_a_run_over_one_module_judges_that_module_alone(good):
    project, *_ = good
    book_survival(project, "good")
    book_survival(project, "other")
    printed, status, written = source(project, "--only", "instrument.good")

    assert 0 == status, printed
    assert {"one_more": {"asserted"}} == outcomes(written)


def test_where_nothing_changed_a_verdict_is_kept(good):
    project, *_ = good
    book_survival(project, "good")
    printed, _, written = source(project)

    assert "nothing has changed" in printed
    assert {"survived"} == outcomes(written)["one_more"]


def test_fresh_discards_every_verdict(good):
    project, *_ = good
    book_survival(project, "good")
    _, _, written = source(project, "--fresh")

    assert {"asserted"} == outcomes(written)["one_more"]


def test_only_what_changed_is_run_again(good):
    project, *_ = good
    book_survival(project, "good")
    book_survival(project, "other")
    edit(project, "instrument/other.py", "return a * 3", "return times(a, 3)\n\n\ndef times(a, b):\n    return a * b")
    printed, _, written = source(project, "--changed")

    assert "only instrument/other.py changed" in printed
    assert {
        "one_more": {"survived"},
        "another": {"asserted"},
        "third": {"asserted", "error only"},
        "times": {"asserted"},
    } == outcomes(written)


def test_an_edited_test_discards_every_verdict(good):
    project, *_ = good
    edit(project, "tests/test_good.py", "assert good.one_more", "assert True or good.one_more")
    printed, status, written = source(project, "--changed")

    assert "everything is run" in printed
    assert {"no tests"} == outcomes(written)["one_more"]
    assert 1 == status


def test_a_run_whose_canary_does_not_die_is_void(good):
    project, *_ = good
    edit(project, "tests/test_good.py", "assert canary.dies(3) == 4", "canary.dies(3)")
    printed, status, written = source(project)

    assert 1 == status
    assert "canary.dies ended as" in printed
    assert written is None


def test_a_run_without_a_green_suite_is_void(good):
    project, *_ = good
    edit(project, "tests/test_good.py", "== 5", "== 6")
    printed, status, written = source(project)

    assert 1 == status
    assert "mutmut ended with status 1: the run is void" in printed
    assert written is None


def test_a_sample_runs_what_is_drawn_and_says_how_sure_the_scores_are(good):
    project, *_ = good
    printed, status, written = source(project, "--fresh", "--sample", "3", "--seed", "1")
    again = source(project, "--fresh", "--sample", "3", "--seed", "1")[2]

    assert 0 == status, printed
    assert 3 == written["total"]["asserted"] == written["total"]["mutants"]
    assert set(written["mutants"]) == set(again["mutants"])
    assert {"asked": 3, "seed": 1} == written["drawn"]
    assert "3 mutants were drawn; of all mutants, with 95 % confidence: raw between 43.8% and 100.0%" in printed


def test_a_larger_sample_is_all_there_is(good):
    project, *_, whole = good
    *_, written = source(project, "--sample", "1000")

    assert set(whole["mutants"]) == set(written["mutants"])
