"""R7: what is marked is scored, and nothing else: several turns in a row, prompts of several tokens, a tool's words."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from instrument.loops.dpo import run_dpo
from instrument.loops.groups import Group
from instrument.loops.grpo import run_grpo
from instrument.loops.sft import run_supervised
from instrument.objective_pairs import PairOptions, of_dpo, of_sft
from instrument.objective_policy import Options, of_grpo
from instrument.tiny import near, tiny_policy
from tests.properties.objectives import assert_follows
from tests.properties.strategies import VOCABULARY, Ids, few, seeds

spans = st.tuples(st.integers(2, 3), st.integers(1, 2), st.integers(2, 3))


@pytest.mark.parametrize("before", [1, 2])
@few
@given(turns=st.lists(spans, min_size=2, max_size=3), seed=seeds)
def test_every_turn_of_a_row_is_scored_and_what_lies_between_is_not(before, turns, seed):
    ids = Ids(seed)
    marks = [[0] * 2 + [1] * a + [0] * gap + [1] * b for a, gap, b in turns]
    # One row whose answer follows a shorter prompt.
    marks[0] = marks[0][2 - before :]

    driven = run_supervised(
        tiny_policy(VOCABULARY, seed), [ids.take(len(row)) for row in marks], {"assistant_masks": marks}, micro_batch=2
    )
    assert_follows(driven.windows, of_sft(driven, "nll"))


@few
@given(shapes=st.lists(spans, min_size=1, max_size=2), seed=seeds)
def test_a_prompt_of_several_tokens_is_not_scored_in_pairs(shapes, seed):
    ids, model = Ids(seed), tiny_policy(VOCABULARY, seed)
    pairs = [(ids.take(p), ids.take(c), ids.take(r)) for p, c, r in shapes]

    driven = run_dpo(model, pairs, reference=near(model), micro_batch=1, beta=0.5)
    assert_follows(driven.windows, of_dpo(driven, {"sigmoid": 1.0}, PairOptions(0.5)))


@few
@given(written=st.integers(1, 2), seed=seeds)
def test_what_a_tool_wrote_is_held_to_no_reference(written, seed):
    ids, model = Ids(seed), tiny_policy(VOCABULARY, seed)
    marks = [False] * written + [True] * 2
    groups = [Group(ids.take(1), [ids.take(len(marks)) for _ in range(2)], [[1.0], [0.0]], [marks] * 2)]

    driven = run_grpo(model, groups, reference=near(model, by=0.5), micro_batch=2, beta=1.0)
    assert_follows(driven.windows, of_grpo(driven, [[1.0], [0.0]], 2, Options(beta=1.0)))
