"""Every sentence that a verdict may say has a code, and every code a section of its own."""

import ast
import re
from pathlib import Path

import pytest

import instrument
from instrument.candidates import candidates
from instrument.codes import code_of, kinds, of_the_run
from tests.instrument.records import a_row, a_window

ROOT = Path(__file__).parents[2]


def window(counts, ranks=1):
    """A window of rows with these targets, [rank][micro-batch][row]."""
    rows = [
        a_row([1.0] * n, micro_batch=m, rank=r)
        for r, rank in enumerate(counts)
        for m, micro_batch in enumerate(rank)
        for n in micro_batch
    ]
    return a_window(*rows, ranks=ranks)


def sentences(file):
    """What a module appends to a list of faults: the fixed words of each, with a number for whatever is filled in."""
    found = []
    module = ast.parse((Path(instrument.__file__).parent / file).read_text())
    # In a run over mutants they stand beside what they are made from.
    mutants = [f for f in ast.walk(module) if isinstance(f, ast.FunctionDef) and re.search(r"__mutmut_\d+$", f.name)]
    left_out = {node for mutant in mutants for node in ast.walk(mutant)}
    for call in ast.walk(module):
        if isinstance(call, ast.JoinedStr) and call not in left_out:
            found.append("".join(p.value if isinstance(p, ast.Constant) else "7" for p in call.values))
    return [text for text in found if len(text.split()) > 4]


@pytest.mark.parametrize(("counts", "ranks"), [([[[2], [3, 4]]], 1), ([[[2], [3, 4]], [[5], [1]]], 2)])
def test_every_formula_has_a_code_of_its_own(counts, ranks):
    names = [candidate.name for candidate in candidates(window(counts, ranks))][1:]
    codes = {name: code_of(f"token weights follow the {name} (w), not the token mean") for name in names}

    assert {} == {name: code for name, code in codes.items() if code in ("other", "other-formula")}


@pytest.mark.parametrize("file", ["verdict.py", "elsewhere.py"])
def test_every_sentence_of_a_verdict_has_a_code(file):
    unknown = [text for text in sentences(file) if code_of(text) == "other" and not re.search(REMARKS, text)]

    assert [] == unknown
    assert len(sentences(file)) > 5


# What is told beside a verdict, and is no fault.
REMARKS = r"targets cannot be read: rounding in 7 explains a tenth of a weight or more, as where|^label smoothing"


def test_a_number_is_told_from_m_and_from_r():
    said = "token weights follow the token mean times {} (w), not"

    assert "scaled" == code_of(said.format("0.857143"))
    assert "times-micro-batches" == code_of(said.format("M = 4"))
    assert "times-ranks" == code_of(said.format("R = 2"))


def test_a_sentence_of_nobody_has_no_code():
    assert "other" == code_of("it rains")


def test_every_code_has_its_section_and_every_section_a_code():
    page = (ROOT / "docs" / "verdicts.md").read_text()

    assert [*{**kinds(), **of_the_run()}] != []
    assert {*kinds(), *of_the_run()} == set(re.findall(r"^## (.+)$", page, re.MULTILINE))


def test_sections_say_what_to_do():
    page = (ROOT / "docs" / "verdicts.md").read_text()
    sections = dict(re.findall(r"^## (.+?)\n(.*?)(?=^## |\Z)", page, re.MULTILINE | re.DOTALL))

    assert {"not-judged", "remark"} == {code for code, text in sections.items() if "Fix: " not in text}


def test_the_page_says_of_every_code_where_it_arises_and_what_it_is():
    page = (ROOT / "docs" / "verdicts.md").read_text()
    table = re.findall(r"^\| \[(.+)\]\(#(.+)\) \| (.+) \| (.+) \|$", page, re.MULTILINE)

    assert [(c, c, kind.stage, kind.told) for c, kind in {**kinds(), **of_the_run()}.items()] == table


def test_every_code_is_found_in_words_that_are_said():
    said = {text for file in Path(instrument.__file__).parent.glob("*.py") for text in sentences(file.name)}
    windows = [window([[[2], [3, 4]], [[5], [1]]], 2), window([[[2], [3, 4]]])]
    said |= {f"follow the {candidate.name}" for one in windows for candidate in candidates(one)} | PUT_TOGETHER

    assert [] == [code for code, kind in kinds().items() if not any(re.search(kind.said, text) for text in said)]


# Sentences that no single string holds.
PUT_TOGETHER = {
    "weights right, 20 of 21 trainable parameters reached: no gradient came to q_proj",
    "the gradient of q_proj is 2 times what the tokens contributed: it is the sum over the ranks instead of their mean",
    "follow the token mean times 0.857143",
    "follow the mean of micro-batch means divided by 4 though 3 ran",
}


def test_codes_are_stable():
    # What somebody's --fail-on or dashboard names; a code may be added, and none may go.
    known = """
        ambiguous divided-twice eos-never-trained extra-target first-micro-batches-only foreign-term gradient-carried
        last-micro-batch-only lost-on-the-way mean-of-micro-batch-means mean-of-rank-means no-gradient not-judged
        nothing-trained-in-row other-formula padding-trained per-sequence-mean policy-weights preference-weights
        prompt-trained ranks-differ ranks-drift ranks-not-averaged ranks-summed
        remark row-missing rows-weighted scaled short-window stray-gradient
        sum-of-micro-batch-means sum-of-rank-means supervised-weights times-micro-batches times-ranks token-sum
        uneven-smoothing unknown-formula unreadable unscored-gradient unscored-target wrong-target
    """.split()

    assert set(known) <= {*kinds(), *of_the_run()}
    assert all(re.fullmatch(r"[a-z][a-z-]*", code) for code in {*kinds(), *of_the_run()})
