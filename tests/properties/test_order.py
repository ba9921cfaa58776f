"""R3: permuting rows permutes the table."""

import dataclasses

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from instrument import tracer_rows, watch, xray_rows
from instrument.loops.trainer import run_trainer
from tests.properties.loops import LOOPS, labels_of, live_model, live_rows, measure, run_by_hand
from tests.strategies import shapes


def per_sequence(losses, scored, targets):
    """Mean over each row's targets, summed over rows: a reduction under which every row weighs something else."""
    return (losses.sum(-1) / scored.sum(-1).clamp(min=1)).sum()


@pytest.mark.parametrize("instrument", ["probe", "live"])
@given(shape=shapes(), data=st.data())
def test_a_permutation_of_the_rows_permutes_the_weights(instrument, shape, data):
    order = data.draw(st.permutations(range(len(shape.lengths))))
    rows = tracer_rows(shape.lengths, shape.seed) if instrument == "probe" else live_rows(shape.lengths, shape.seed)
    labels = labels_of(rows, shape.labelled)

    def weights(order):
        def step(model, _):
            run_by_hand(
                model,
                [rows[b] for b in order],
                [labels[b] for b in order],
                micro_batch=shape.micro_batch,
                accumulation=1,
                reduce=per_sequence,
            )

        if instrument == "probe":
            report = xray_rows(step, rows, shape.seed)
            return {tuple(row.ids): row.weight for row in report.rows}, report.rounding()
        model = live_model(shape.seed)
        with watch(model) as report:
            step(model, rows)
        found = [row.weight for row in report.rows]
        return {(tuple(rows[b]), b): weight for b, weight in zip(order, found)}, report.rounding()

    straight, tolerance = weights(range(len(rows)))
    permuted, _ = weights(order)

    assert straight.keys() == permuted.keys()
    for row, weight in straight.items():
        np.testing.assert_allclose(permuted[row], weight, rtol=2 * tolerance, atol=0)


@pytest.mark.parametrize("instrument", ["probe", "live"])
@pytest.mark.parametrize("loop", LOOPS)
@given(shape=shapes(together=2), data=st.data())
def test_the_order_inside_a_micro_batch_changes_no_weight(instrument, loop, shape, data):
    order = [b for group in shape.micro_batches() for b in data.draw(st.permutations(group))]
    moved = dataclasses.replace(
        shape, lengths=[shape.lengths[b] for b in order], labelled=[shape.labelled[b] for b in order]
    )

    straight, _ = measure(instrument, loop, shape)
    permuted, _ = measure(instrument, loop, moved)

    for place, b in enumerate(order):
        np.testing.assert_allclose(permuted.weights[place], straight.weights[b], rtol=2 * straight.rounding(), atol=0)


@pytest.mark.parametrize("instrument", ["probe", "live"])
@given(shape=shapes(any_order=True))
def test_shuffling_the_trainers_data_changes_no_weight(instrument, shape):
    report, _ = measure(instrument, "trainer", shape, train_sampling_strategy="random", data_seed=shape.seed)

    report.assert_token_mean()
    assert sorted(map(len, (row.ids for row in report.rows))) == sorted(shape.lengths)


def test_the_trainer_really_shuffles():
    seen = []

    def step(model, rows):
        model.register_forward_pre_hook(lambda m, a, k: seen.append(k["input_ids"][0, 0].item()), with_kwargs=True)
        run_trainer(model, rows, micro_batch=1, train_sampling_strategy="random", data_seed=1)

    rows = tracer_rows([3] * 8)
    xray_rows(step, rows)

    assert sorted(seen) == sorted(row[0] for row in rows)
    assert seen != [row[0] for row in rows]
