"""R14 over a resume: each sample runs exactly once in each epoch, wherever the run was stopped and taken up again."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.properties.loops import live_rows
from tests.properties.resumed import times_over_a_resume

# Each example saves and loads a checkpoint.
few = settings(max_examples=max(2, settings.default.max_examples // 20))


@st.composite
def stops(draw):
    """A split of rows into windows, and a step amid the second of two epochs behind which the run stops."""
    micro_batch, accumulation, windows = draw(st.integers(1, 2)), draw(st.integers(2, 3)), draw(st.integers(2, 4))
    step = windows + draw(st.integers(1, windows - 1))
    split = {"micro_batch": micro_batch, "accumulation": accumulation, "num_train_epochs": 2}
    return windows * micro_batch * accumulation, step, split


@pytest.mark.parametrize(
    "order", [{}, {"train_sampling_strategy": "random", "data_seed": 1}], ids=["in order", "shuffled"]
)
@few
@given(stop=stops())
def test_each_sample_runs_once_an_epoch_over_a_resume(order, stop):
    number, step, split = stop
    rows = live_rows([4] * number, 0)

    assert [2] * number == times_over_a_resume(rows, step, **split, **order)
