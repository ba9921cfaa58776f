"""R14 over a resume: each sample runs exactly once in each epoch, wherever the run was stopped and taken up again."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from instrument.ranks import merge
from tests.properties.loops import live_rows
from tests.properties.resumed import times_in, times_over_a_resume
from tests.properties.strategies import RANKS
from tests.ranks.pool import on_ranks
from tests.ranks.step_jobs import resumed

# Each example saves and loads a checkpoint.
few = settings(max_examples=max(2, settings.default.max_examples // 20))


@st.composite
def stops(draw):
    """A split of rows into windows, and a step amid the second of two epochs behind which the run stops."""
    micro_batch, accumulation, windows = draw(st.integers(1, 2)), draw(st.integers(2, 3)), draw(st.integers(2, 4))
    step = windows + draw(st.integers(1, windows - 1))
    split = {"micro_batch": micro_batch, "accumulation": accumulation, "num_train_epochs": 2}
    return windows * micro_batch * accumulation, step, split


orders = pytest.mark.parametrize(
    "order", [{}, {"train_sampling_strategy": "random", "data_seed": 1}], ids=["in order", "shuffled"]
)


@orders
@few
@given(stop=stops())
def test_each_sample_runs_once_an_epoch_over_a_resume(order, stop):
    number, step, split = stop
    rows = live_rows([4] * number, 0)

    assert [2] * number == times_over_a_resume(rows, step, **split, **order)


@orders
@few
@given(stop=stops())
def test_each_sample_runs_once_an_epoch_over_a_resume_of_two_ranks(order, stop, tmp_path_factory):
    number, step, split = stop
    rows = live_rows([4] * (RANKS * number), 0)

    answers = on_ranks(resumed, str(tmp_path_factory.mktemp("runs")), rows, step, {**split, **order})

    assert [2] * len(rows) == times_in([merge(records) for records in zip(*answers)], rows)
