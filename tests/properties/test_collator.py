"""R4 and R6 through the library's own collator: rows of unequal length that end in EOS, padded with another token."""

from hypothesis import given

from instrument import tracer_rows, watch, xray_rows
from instrument.loops.data import library_collator
from instrument.loops.trainer import run_trainer
from instrument.probe import EOS, PAD, vocabulary_for
from tests.properties.loops import VOCABULARY, live_model, live_rows
from tests.strategies import shapes


def train(model, rows, shape, vocabulary):
    """The Trainer with DataCollatorForLanguageModeling, right padding."""
    collator = library_collator(vocabulary, PAD)
    return run_trainer(model, rows, micro_batch=shape.micro_batch, accumulation=shape.accumulation, collator=collator)


@given(shape=shapes(masks=False))
def test_every_token_but_padding_is_scored_and_weighs_the_same_in_the_probe(shape):
    rows = tracer_rows(shape.lengths, shape.seed, end_with_eos=True)

    report = xray_rows(lambda model, rows: train(model, rows, shape, vocabulary_for(rows)), rows, shape.seed)

    report.assert_token_mean()
    assert all(row.scored.all() and row.target[-1] == EOS for row in report.rows)


@given(shape=shapes(masks=False))
def test_every_token_but_padding_is_scored_and_weighs_the_same_in_a_live_model(shape):
    rows = [[*row, EOS] for row in live_rows(shape.lengths, shape.seed)]
    model = live_model(shape.seed)

    with watch(model) as report:
        train(model, rows, shape, VOCABULARY)

    report.assert_token_mean()
    assert all(row.scored.all() and row.target[-1] == EOS for row in report.rows)
    assert [len(row) for row in rows] == [len(row.ids) for row in report.rows]
