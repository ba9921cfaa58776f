"""The probe: rows of unique ids, a model whose losses depend on one input token each, and batches that lose nothing."""

import copy

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from instrument import build_probe, make_batch, tracer_rows, xray, xray_rows
from instrument.loops.trainer import run_trainer
from instrument.probe import BOS, EOS, PAD, vocabulary_for
from instrument.probe_record import pairs_of, read_inputs, unit_gradients
from instrument.readout import solve_weights

lengths = st.lists(st.integers(2, 9), min_size=1, max_size=6)


@given(lengths, st.integers(0, 2**31), st.booleans())
def test_every_tracer_is_unique_and_no_special_token(lengths, seed, end_with_eos):
    rows = tracer_rows(lengths, seed, end_with_eos)

    kept = [row[:-1] if end_with_eos else row for row in rows]
    ids = [i for row in kept for i in row]
    assert lengths == [len(row) for row in kept]
    assert len(ids) == len(set(ids))
    assert not {PAD, BOS, EOS} & set(ids)
    assert all(row[-1] == EOS for row in rows if end_with_eos)
    assert max(ids) + 1 == vocabulary_for(rows)


def test_another_seed_gives_other_tracers():
    assert tracer_rows([9, 9], seed=0) == tracer_rows([9, 9], seed=0)
    assert tracer_rows([9, 9], seed=0) != tracer_rows([9, 9], seed=1)


def test_the_vocabulary_holds_special_tokens_and_last_targets():
    assert 10 == vocabulary_for([[5, 6, 9], [7, 8]])
    assert 3 == vocabulary_for([[1, 1]])


def test_the_same_seed_builds_the_same_probe_and_leaves_the_random_state():
    torch.manual_seed(7)
    before = torch.get_rng_state()

    first, second, third = build_probe(12, seed=3), build_probe(12, seed=3), build_probe(12, seed=4)

    assert torch.equal(before, torch.get_rng_state())
    assert torch.equal(first.lm_head.weight, second.lm_head.weight)
    assert not torch.equal(first.lm_head.weight, third.lm_head.weight)


def test_the_probe_is_float64_untied_and_silent_in_attention_alone():
    model = build_probe(12, hidden_size=32, layers=3)

    frozen = {name for name, parameter in model.named_parameters() if not parameter.requires_grad}
    assert {torch.float64} == {parameter.dtype for parameter in model.parameters()}
    assert model.lm_head.weight is not model.get_input_embeddings().weight
    assert {f"model.layers.{n}.self_attn.o_proj.weight" for n in range(3)} == frozen
    assert all(bool(parameter.any()) != (name in frozen) for name, parameter in model.named_parameters())
    assert "sdpa" == model.config._attn_implementation


def test_a_loss_depends_on_one_input_token_and_not_on_its_place():
    model = build_probe(12)
    rows = torch.tensor([[5, 6, 7, 8], [9, 6, 11, 6], [6, 3, 4, 5]])

    logits = model(input_ids=rows).logits

    torch.testing.assert_close(logits[0, 1], logits[1, 1], rtol=0, atol=0)
    torch.testing.assert_close(logits[0, 1], logits[1, 3], rtol=0, atol=0)
    torch.testing.assert_close(logits[0, 1], logits[2, 0], rtol=0, atol=0)
    assert not torch.allclose(logits[0, 1], logits[0, 2])


def test_unit_gradients_are_those_of_the_embeddings_parameter():
    rows = [[5, 6, 7], [8, 6, 9]]
    model = build_probe(vocabulary_for(rows))

    units = unit_gradients(model, pairs_of(rows))

    for number, (x, y) in enumerate([(5, 6), (6, 7), (8, 6), (6, 9)]):
        log_p = torch.log_softmax(model(input_ids=torch.tensor([[x]])).logits[0, 0], -1)
        for loss, found, column in (
            (-log_p[y], units.loss_p, units.unit_ph),
            (-log_p.mean(), units.uniform_loss_p, units.uniform_ph),
        ):
            gradient = torch.autograd.grad(loss, model.get_input_embeddings().weight, retain_graph=True)[0]
            torch.testing.assert_close(column[number], gradient[x], rtol=1e-9, atol=1e-15)
            assert float(found[number]) == pytest.approx(float(loss.detach()), rel=1e-12)


def test_unit_gradients_leave_the_parameters_gradients_alone():
    model = build_probe(12)

    unit_gradients(model, [(5, 6)])

    assert all(parameter.grad is None for parameter in model.parameters())


@given(st.integers(0, 2**16), st.lists(st.floats(0.01, 2), min_size=5, max_size=5))
def test_a_built_gradient_is_read_pair_by_pair(seed, built):
    pairs = [(5, 6), (6, 7), (7, 8), (6, 9), (6, 5)]
    units = unit_gradients(build_probe(10, seed), pairs)
    gradient_vh = torch.zeros(10, 64, dtype=torch.float64)
    for (x, _), weight, unit_h in zip(pairs, built, units.unit_ph):
        gradient_vh[x] += weight * unit_h

    read = read_inputs(gradient_vh, pairs, units)

    np.testing.assert_allclose(read.weight, built, rtol=1e-9)
    np.testing.assert_allclose(read.cosine, [1.0] * 5, rtol=1e-9)
    np.testing.assert_array_less(read.remainder, 1e-9)
    assert not read.uniform.any()
    # What telling targets apart costs is in the amplification of those that share an input.
    shared = [1, 3, 4]
    condition_p = torch.ones(5, dtype=torch.float64)
    condition_p[shared] = solve_weights(gradient_vh[6], units.unit_ph[shared]).condition
    np.testing.assert_allclose(
        read.amplification, condition_p * units.column_p.max() / units.unit_ph.norm(dim=-1), rtol=1e-12
    )


def test_label_smoothing_is_not_looked_for_where_targets_share_an_input():
    pairs = [(5, 6), (5, 7), (8, 9)]
    units = unit_gradients(build_probe(10), pairs)
    gradient_vh = torch.zeros(10, 64, dtype=torch.float64)
    gradient_vh[5] = units.unit_ph[0] + 0.01 * units.unit_ph[1] + units.uniform_ph[0]
    gradient_vh[8] = units.unit_ph[2] + units.uniform_ph[2]

    read = read_inputs(gradient_vh, pairs, units)

    np.testing.assert_allclose(read.uniform, [0, 0, 1], atol=1e-9)
    assert read.remainder[0] == read.remainder[1] > 0.01


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
def test_the_objective_is_the_loss_that_was_differentiated(smoothing):
    losses = []

    def step(model, rows):
        batch = make_batch(rows)
        logits, targets = model(**batch).logits[:, :-1], batch["labels"][:, 1:]
        loss = torch.nn.functional.cross_entropy(
            logits.flatten(0, 1), targets.flatten(), label_smoothing=smoothing, ignore_index=-100
        )
        loss.backward()
        losses.append(float(loss.detach()))

    report = xray(step, [4, 6, 3])

    assert report.windows[0].objective() == pytest.approx(losses[0], rel=1e-6)


def test_targets_of_one_input_are_weighed_apart():
    rows = [[5, 6, 7, 8], [9, 6, 10], [11, 6, 12]]

    def step(model, rows):
        for row, weight in zip(rows, (0.5, 0.3, 0.2)):
            (weight * model(**make_batch([row])).loss).backward()

    report = xray_rows(step, rows)

    for found, expected in zip(report.weights, ([0.5 / 3] * 3, [0.3 / 2] * 2, [0.2 / 2] * 2)):
        np.testing.assert_allclose(found, expected, rtol=1e-6)


@given(st.integers(0, 2**16), st.lists(st.booleans(), min_size=6, max_size=6).filter(any))
def test_an_unlabelled_target_of_a_shared_input_weighs_exactly_nothing(seed, marks):
    rows = [[5, 6, 7], [8, 6, 9], [10, 6, 11]]
    labelled = [marks[0:2], marks[2:4], marks[4:6]]
    labels = [[-100, *(i if m else -100 for i, m in zip(row[1:], ms))] for row, ms in zip(rows, labelled)]

    report = xray_rows(
        lambda model, rows: model(**make_batch(rows, labels)).loss.backward(), rows, seed, labelled=labelled
    )

    report.assert_token_mean()
    assert report.ok
    assert [not mark for mark in marks] == [w == 0 for weight in report.weights for w in weight]


def test_the_floor_of_the_probe_through_the_real_trainer():
    report = xray(
        lambda model, rows: run_trainer(model, rows, micro_batch=2, accumulation=4), [5, 9, 3, 12, 7, 4, 10, 6]
    )

    report.assert_token_mean(tol=3e-7)


def test_the_step_gets_rows_of_its_own():
    def step(model, rows):
        model(**make_batch(copy.deepcopy(rows))).loss.backward()
        rows[0].clear()

    rows = [[5, 6, 7], [8, 9]]
    xray_rows(step, rows).assert_token_mean()

    assert [[5, 6, 7], [8, 9]] == rows


# Batches.


@given(lengths, st.sampled_from(["left", "right"]), st.integers(0, 12))
def test_a_batch_loses_nothing_and_masks_its_padding(lengths, side, pad_to):
    rows = tracer_rows(lengths)

    batch = make_batch(rows, padding_side=side, pad_to=pad_to)

    width = max(pad_to, *lengths, 0)
    assert {(len(rows), width)} == {tuple(values.shape) for values in batch.values()}
    for row, ids, labels, mask in zip(rows, *(batch[name] for name in ("input_ids", "labels", "attention_mask"))):
        at = slice(width - len(row), None) if side == "left" else slice(None, len(row))
        assert row == ids[at].tolist() == ids[mask == 1].tolist()
        # A first token behind padding would train the padding to predict it.
        first = -100 if side == "left" and len(row) < width else row[0]
        assert [first, *row[1:]] == labels[at].tolist()
        assert {PAD} >= set(ids[mask == 0].tolist())
        assert {-100} >= set(labels[mask == 0].tolist())


def test_a_batch_takes_labels_and_another_padding_id():
    batch = make_batch([[5, 6, 7], [8, 9]], [[5, -100, 7], [8, 9]], pad_id=EOS)

    assert [[5, 6, 7], [8, 9, EOS]] == batch["input_ids"].tolist()
    assert [[5, -100, 7], [8, 9, -100]] == batch["labels"].tolist()
    assert [[1, 1, 1], [1, 1, 0]] == batch["attention_mask"].tolist()
