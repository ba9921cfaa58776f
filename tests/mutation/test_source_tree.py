"""What is kept of an earlier tree, and what is read from it."""

import json

import pytest

from mutation.source.mutant import Outcome
from mutation.source.stamp import Reuse, Stamp
from mutation.source.tree import Tree

NAME = "pkg.a.x_f__mutmut_{}"


@pytest.fixture
def tree(tmp_path):
    """A tree of two files: one mutant judged, one judged after an error, one not run; one noticed by accident."""
    tree = Tree(tmp_path)
    (tree.folder / "pkg").mkdir(parents=True)
    book(tree, "a", {NAME.format(1): 1, NAME.format(2): 1, NAME.format(3): None})
    book(tree, "b", {"pkg.b.x_g__mutmut_1": 1})
    lines = [(NAME.format(1), "t1", "assert"), (NAME.format(2), "t1", "error"), (NAME.format(2), "t2", "assert")]
    lines += [("pkg.b.x_g__mutmut_1", "t3", "error"), ("pkg.b.x_g__mutmut_1", "t3", "assert")]
    tree.log.write_text("".join(json.dumps({"mutant": m, "test": t, "kind": k}) + "\n" for m, t, k in lines))
    calls = {"pkg.a.x_f": ["t1", "t2"], "pkg.b.x_g": ["t2", "t3"]}
    stats = {"tests_by_mangled_function_name": calls, "duration_by_test": {"t1": 1, "t2": 1, "t3": 1}, "stats_time": 3}
    (tree.folder / "mutmut-stats.json").write_text(json.dumps(stats))
    return tree


def book(tree, module, codes):
    for ending, text in (("", "code"), (".meta", json.dumps({"exit_code_by_key": codes})), (".spans", "{}")):
        (tree.folder / "pkg" / f"{module}.py{ending}").write_text(text)


def keep_all(name):
    return False


def test_mutants_are_read_with_their_killers(tree):
    assert [
        ("pkg/a.py", Outcome.ASSERTED, {"t1": "assert"}),
        ("pkg/a.py", Outcome.ASSERTED, {"t1": "error", "t2": "assert"}),
        ("pkg/a.py", Outcome.NOT_RUN, {}),
        ("pkg/b.py", Outcome.ERROR_ONLY, {"t3": "error"}),
    ] == [(mutant.path, mutant.outcome, mutant.kills) for mutant in tree.mutants()]


def test_a_line_that_was_cut_short_is_left_out(tree):
    whole = tree.lines()
    with tree.log.open("a") as log:
        log.write('{"mutant": "pkg.')

    assert whole == tree.lines()


def test_a_fresh_run_finds_nothing_but_the_stamp(tree):
    tree.prepare(Reuse(True), Stamp("s", {"pkg/a.py": "1"}), keep_all)

    assert [] == tree.mutants() == tree.lines()
    assert Stamp("s", {"pkg/a.py": "1"}) == tree.stamp()


def test_a_continued_run_finds_every_verdict(tree):
    before = tree.mutants()
    tree.prepare(Reuse(False), Stamp("s", {}), keep_all)

    assert before == tree.mutants()
    assert (tree.folder / "mutmut-stats.json").exists()


def test_an_edited_module_is_made_anew(tree):
    tree.prepare(Reuse(False, ("pkg/b.py",)), Stamp("s", {}), keep_all)

    assert {"pkg/a.py"} == {mutant.path for mutant in tree.mutants()}
    assert [] == list((tree.folder / "pkg").glob("b.py*"))
    assert {"t1", "t2"} == {line["test"] for line in tree.lines()}


def test_only_the_tests_of_an_edited_module_are_asked_again_what_they_call(tree):
    tree.prepare(Reuse(False, ("pkg/b.py",)), Stamp("s", {}), keep_all)
    stats = json.loads((tree.folder / "mutmut-stats.json").read_text())

    assert {"pkg.a.x_f": ["t1"], "pkg.b.x_g": []} == stats["tests_by_mangled_function_name"]
    assert {"t1": 1} == stats["duration_by_test"]


@pytest.mark.parametrize("text", ["", "{", "{}", "[]"])
def test_what_tests_call_is_asked_of_all_where_it_cannot_be_read(tree, text):
    (tree.folder / "mutmut-stats.json").write_text(text)
    tree.prepare(Reuse(False, ("pkg/b.py",)), Stamp("s", {}), keep_all)

    assert not (tree.folder / "mutmut-stats.json").exists()


def test_what_is_run_again_loses_its_old_killers(tree):
    tree.prepare(Reuse(False), Stamp("s", {}), lambda name: name.endswith("_2"))

    assert [NAME.format(1)] == [line["mutant"] for line in tree.lines() if line["mutant"].startswith("pkg.a")]


@pytest.mark.parametrize("text", [None, "", "{", "{}", '{"around": "a", "other": 1}'])
def test_a_stamp_that_cannot_be_read_is_none(tree, text):
    if text is not None:
        (tree.folder / "stamp.json").write_text(text)

    assert tree.stamp() is None
