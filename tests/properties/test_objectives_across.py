"""R7 across tokenizers: every place of a student gets the closed form's own gradient, and no other place any."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from instrument.loops.gold_across import run_gold_across, run_gold_sampled, tokenizer_of_letters
from instrument.objective_record import ObjectiveRun
from instrument.objective_universal import Across, of_gold_across
from instrument.objective_verdict import judge_objective
from instrument.probe import EOS
from instrument.tiny import tiny_policy
from instrument.trl_across import MERGES
from tests.properties.objectives import RATE
from tests.properties.strategies import few, seeds

# What one of the tokenizers knows as a word, what both do, and letters of which no word is made.
texts = st.lists(st.sampled_from(["abcd", "bc", "efg", "gh", "da", "x", "y"]), min_size=2, max_size=4).map("".join)
# TRL refuses a prompt of which every letter stands in a token with the completion.
prompts = texts.map(lambda text: "z" + text)


@st.composite
def spelled(draw):
    """Texts that fill windows, none twice, the splits, and whether their tokenizers change places."""
    windows, micro_batch, steps = draw(st.integers(1, 2)), draw(st.integers(1, 2)), draw(st.integers(1, 3))
    rows = windows * micro_batch * steps
    pairs = draw(st.lists(st.tuples(prompts, texts), min_size=rows, max_size=rows, unique_by="".join))
    merges = draw(st.permutations(MERGES))
    return pairs, {"micro_batch": micro_batch, "gradient_accumulation_steps": steps}, tuple(merges)


def assert_across(taught, spellings, changes, form, rows):
    """Every place is the form's own, every row ran, and some of it trains."""
    windows, apart = of_gold_across(taught, spellings, form, divided=False)
    assert judge_objective(ObjectiveRun(windows, changes, apart=apart), [])[:2] == ("the closed form", "ok")
    assert sorted(n for window in windows for batch in window for n in batch.numbers) == list(range(rows))
    assert any(np.any(batch.expected) for window in windows for batch in window)


@pytest.mark.parametrize("merge", ["observed", "bayesian"])
@few
@given(
    drawn=spelled(),
    extended=st.sampled_from([True, False]),
    beta=st.sampled_from([None, 0.0, 0.25, 1.0]),
    temperatures=st.sampled_from([(1.0, 1.0), (2.0, 0.5)]),
    weights=st.sampled_from([(0.0, 1.0), (0.5, 2.0), (1.0, 0.0)]),
    seed=seeds,
)
def test_every_place_across_tokenizers(merge, drawn, extended, beta, temperatures, weights, seed):
    pairs, split, merges = drawn
    words = [tokenizer_of_letters(side).get_vocab() for side in merges]
    options = {"use_extended_uld": extended, "uld_token_merge_strategy": merge}
    known = None
    if beta is not None:
        known = [(words[0][word], number) for word, number in words[1].items() if word in words[0]]
        options |= {"uld_use_hybrid_loss": True, "uld_hybrid_matched_weight": 0.75, "uld_hybrid_unmatched_weight": 0.5}
        options["beta"] = beta
    form = Across(
        merge, merge == "bayesian", extended, known, (0.75, 0.5), beta or 0.0, temperatures, (True, True), *weights
    )

    taught, spellings, changes = run_gold_across(
        tiny_policy(len(words[0]), seed),
        tiny_policy(len(words[1]), seed + 1),
        merges,
        pairs,
        learning_rate=RATE,
        uld_student_temperature=temperatures[0],
        uld_teacher_temperature=temperatures[1],
        uld_crossentropy_weight=weights[0],
        uld_distillation_weight=weights[1],
        **options,
        **split,
    )
    assert_across(taught, spellings, changes, form, len(pairs))


@st.composite
def sampled(draw):
    """Prompts and completions of a data set, and what a student of the first tokenizer generates in their place."""
    pairs, split, merges = draw(spelled())
    words = len(tokenizer_of_letters(merges[0]).get_vocab())
    longest = draw(st.integers(2, 5))
    ids = st.lists(st.integers(EOS + 1, words - 1), min_size=longest, max_size=longest)
    rows = draw(st.lists(ids, min_size=len(pairs), max_size=len(pairs)))
    # Of one token at least, and the end behind it; or as long as may be.
    ends = draw(st.lists(st.integers(1, longest), min_size=len(pairs), max_size=len(pairs)))
    completions = [row[:n] + [EOS] * (n < longest) for row, n in zip(rows, ends)]
    # A number of letters before the one at which the prompt ends makes each prompt another one.
    return [("z" * (i + 1) + prompt, said) for i, (prompt, said) in enumerate(pairs)], completions, split, merges


@pytest.mark.parametrize("merge", ["observed", "bayesian"])
@few
@given(drawn=sampled(), extended=st.booleans(), temperatures=st.sampled_from([(1.0, 1.0), (2.0, 0.5)]), seed=seeds)
def test_every_place_that_a_student_generated(merge, drawn, extended, temperatures, seed):
    pairs, completions, split, merges = drawn
    words = [tokenizer_of_letters(side).get_vocab() for side in merges]

    run = run_gold_sampled(
        tiny_policy(len(words[0]), seed),
        tiny_policy(len(words[1]), seed + 1),
        merges,
        pairs,
        completions,
        learning_rate=RATE,
        use_extended_uld=extended,
        uld_token_merge_strategy=merge,
        uld_student_temperature=temperatures[0],
        uld_teacher_temperature=temperatures[1],
        **split,
    )
    assert_across(*run, Across(merge, merge == "bayesian", extended, temperatures=temperatures), len(pairs))
