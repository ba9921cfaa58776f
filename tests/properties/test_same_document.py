"""R5: a document weighs and loses the same, whatever it is batched with: padded, flattened, packed."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from transformers import DataCollatorWithFlattening

from instrument import tracer_rows, watch
from instrument.leak_probe import build_leak_probe
from instrument.loops.sft import run_sft
from instrument.loops.trainer import run_trainer
from instrument.probe import vocabulary_for
from tests.properties.test_leaks import lengths, rows_with_short_ones, seeds


def in_one_window(micro_batch, **arguments):
    """The Trainer, with all rows in one optimizer step of micro-batches."""

    def train(model, rows):
        run_trainer(model, rows, micro_batch=micro_batch, accumulation=len(rows), **arguments)

    return train


def in_one_window_of_trl(micro_batch, **arguments):
    """SFTTrainer, with all rows, or the packs of them, in one optimizer step of micro-batches."""

    def train(model, rows):
        run_sft(model, rows, micro_batch=micro_batch, gradient_accumulation_steps=len(rows), **arguments)

    return train


# Rows, or packs, of a micro-batch, for each of the ways to batch that are compared.
splits = st.tuples(*[st.integers(1, 4)] * 3)


@settings(max_examples=5)
@given(data=st.data(), split=splits, seed=seeds)
def test_one_document_weighs_and_loses_the_same_in_every_batch(data, split, seed):
    rows = data.draw(rows_with_short_ones())
    flat = {"collator": DataCollatorWithFlattening()}

    assert_weigh_and_lose_alike(
        [in_one_window(split[0]), in_one_window(split[1], **flat), in_one_window(len(rows), **flat)],
        rows,
        seed,
    )


@settings(max_examples=5)
@given(lengths=lengths, split=splits, seed=seeds)
def test_one_document_weighs_and_loses_the_same_under_trl(lengths, split, seed):
    packed = {"packing": True, "max_length": 8}

    assert_weigh_and_lose_alike(
        [
            in_one_window(split[0]),
            in_one_window_of_trl(split[1], **packed),
            in_one_window_of_trl(split[2], padding_free=True, max_length=None),
        ],
        tracer_rows(lengths),
        seed,
    )


def assert_weigh_and_lose_alike(ways, rows, seed):
    """Every target weighs one over their number in each of the ways to train, and loses what it does in the first."""
    targets = [token for row in rows for token in row[1:]]
    read = [weights_and_losses(train, rows, seed) for train in ways]

    for weight, loss in read:
        assert sorted(weight) == sorted(targets)
        np.testing.assert_allclose([weight[t] * len(targets) for t in targets], 1, rtol=1e-6)
        np.testing.assert_allclose([loss[t] for t in targets], [read[0][1][t] for t in targets], rtol=1e-9)


def weights_and_losses(train, rows, seed):
    """Weight and loss of each target, by its token, which occurs once."""
    model = build_leak_probe(vocabulary_for(rows), seed=seed)
    with watch(model) as report:
        train(model, rows)
    assert len(report.windows) == 1
    scored = [(row, i) for row in report.rows for i in np.flatnonzero(row.scored)]
    return (
        {int(row.target[i]): row.weight[i] for row, i in scored},
        {int(row.target[i]): row.loss[i] for row, i in scored},
    )
