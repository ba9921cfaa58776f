"""R7: every target of SFTTrainer weighs what its loss says, under every mask, at every optimizer step."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from instrument.loops.sft import run_supervised
from instrument.objective_pairs import of_sft
from instrument.probe import EOS
from instrument.tiny import tiny_policy
from instrument.trl_runs import kept_and_spread
from tests.properties.objectives import RATE, assert_follows
from tests.properties.strategies import VOCABULARY, Ids, few, seeds


@st.composite
def masked_rows(draw, columns):
    """Two to six rows that end with the end of sequence, and a mask for each column; all are 1 at the last token."""
    ids = Ids(draw(seeds))
    rows = [(*ids.take(n), EOS) for n in draw(st.lists(st.integers(1, 6), min_size=2, max_size=6))]
    masks = {name: [[draw(st.integers(0, 1)) for _ in row[1:]] + [1] for row in rows] for name in columns}
    return rows, masks


@pytest.mark.parametrize(
    "columns", [(), ("completion_mask",), ("assistant_masks",), ("completion_mask", "assistant_masks")]
)
@pytest.mark.parametrize("loss_type", ["nll", "dft"])
@few
@given(data=st.data(), micro_batch=st.integers(1, 3), accumulation=st.integers(1, 3), seed=seeds)
def test_every_target_weighs_its_closed_form(columns, loss_type, data, micro_batch, accumulation, seed):
    rows, masks = data.draw(masked_rows(columns))

    driven = run_supervised(
        tiny_policy(VOCABULARY, seed),
        rows,
        masks,
        micro_batch=micro_batch,
        gradient_accumulation_steps=accumulation,
        loss_type=loss_type,
        learning_rate=RATE,
    )
    assert_follows(driven.windows, of_sft(driven, loss_type))


@pytest.mark.filterwarnings("ignore:`label_smoothing_factor` is deprecated in `SFTTrainer`")
@few
@given(data=st.data(), share=st.sampled_from([0.1, 0.5]), micro_batch=st.integers(1, 3), accumulation=st.integers(1, 3))
def test_a_target_keeps_what_label_smoothing_does_not_spread(data, share, micro_batch, accumulation):
    rows, masks = data.draw(masked_rows(("completion_mask",)))

    driven = run_supervised(
        tiny_policy(VOCABULARY, 0),
        rows,
        masks,
        micro_batch=micro_batch,
        gradient_accumulation_steps=accumulation,
        label_smoothing_factor=share,
        learning_rate=RATE,
    )
    assert_follows(*kept_and_spread(driven, share))
