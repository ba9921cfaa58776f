"""A user's own model is weighed as it is: any head, dtype and shape of module."""

import numpy as np
import pytest
import torch

from instrument import make_batch, watch
from instrument.live import LinearHead
from instrument.loops.trainer import run_trainer
from tests.instrument import models
from tests.instrument.heads import random_ids
from tests.instrument.models import MODELS

every_head = pytest.mark.parametrize("kind", MODELS)


@every_head
def test_a_trained_window_of_any_model_is_a_token_mean(kind):
    model, rows = MODELS[kind](), random_ids(2, 6).tolist()
    batch = make_batch([rows[0], rows[1][:4]])

    with watch(model) as report:
        model(**batch).loss.backward()

    report.assert_token_mean(tol=2e-6)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_the_floor_through_the_real_trainer(dtype):
    model = models.llama().to(dtype)
    for parameter in model.parameters():
        parameter.data.mul_(5)
    rows = [row[:n] for row, n in zip(random_ids(8, 12).tolist(), (5, 9, 3, 12, 7, 4, 10, 6))]

    with watch(model) as report:
        run_trainer(model, rows, micro_batch=2, accumulation=4)

    report.assert_token_mean(tol={torch.float32: 2e-6, torch.float64: 3e-7}[dtype])


def test_a_bfloat16_model_with_padding_is_read():
    model = models.llama().bfloat16()

    with watch(model) as report:
        model(**make_batch([*random_ids(1, 6).tolist(), [5, 6, 7]])).loss.backward()

    assert ("bfloat16", "bfloat16") == (report.record.work_dtype, report.record.loss_dtype)
    report.assert_token_mean(tol=0.05)


def test_the_dtype_is_that_of_the_gradient_and_not_of_an_adapter():
    model = models.with_lora(base=lambda seed: models.llama(seed).bfloat16())

    with watch(model) as report:
        model(**make_batch(random_ids(2, 6).tolist())).loss.backward()

    assert {torch.float32} == {p.dtype for p in model.parameters() if p.requires_grad}
    assert "bfloat16" == report.record.work_dtype


def written_window(model, ids):
    """One window of a hand-written model, whose loss is made outside of it."""
    logits = model(ids)
    torch.nn.functional.cross_entropy(logits[:, :-1].flatten(0, 1), ids[:, 1:].flatten()).backward()


@pytest.mark.parametrize("read_point", ["name", "module"])
@pytest.mark.parametrize("head", ["name", "module", "function", "function that ends in a saved tensor"])
def test_a_written_model_is_read_at_a_named_place(read_point, head):
    model, ids = models.written(), random_ids(3, 6)
    heads = {
        "name": "out",
        "module": model.out,
        "function": lambda hidden: model.out(hidden),
        "function that ends in a saved tensor": lambda hidden: model.out(hidden).exp().log(),
    }

    with watch(model, read_point={"name": "norm", "module": model.norm}[read_point], head=heads[head]) as report:
        written_window(model, ids)

    report.assert_token_mean(tol=2e-6)
    assert 3 * 5 == report.windows[0].targets()


def test_a_written_head_that_squashes_is_read():
    model, ids = models.written(), random_ids(2, 6)
    squash = model.out.forward
    model.out.forward = lambda hidden: torch.tanh(squash(hidden))

    with watch(model, read_point="norm", head=lambda hidden: torch.tanh(squash(hidden))) as report:
        written_window(model, ids)

    report.assert_token_mean(tol=2e-6)


def test_the_wrong_head_shows_as_an_unexplained_gradient():
    model, ids = models.written(), random_ids(2, 6)

    with watch(model, read_point="norm", head=lambda hidden: torch.tanh(model.out(hidden))) as report:
        written_window(model, ids)

    assert not report.ok


def test_a_last_token_without_a_next_one_has_no_target():
    model, ids = models.written(), random_ids(2, 6)

    with watch(model, read_point="norm", head="out") as report:
        torch.nn.functional.cross_entropy(model(ids).flatten(0, 1), ids.flatten()).backward()

    assert [[True] * 5 + [False]] * 2 == [row.scored.tolist() for row in report.rows]
    assert any("2 tokens that should not be scored have a gradient" in fault for fault in report.verdicts[0].faults)


def test_a_gradient_where_no_label_was_is_read_too():
    model, batch = models.llama(), make_batch(random_ids(2, 6).tolist())
    targets = batch["labels"][:, 1:].flatten().clone()
    batch["labels"][0, :4] = -100

    with watch(model) as report:
        # Divided by the seven that are labelled, but all ten are in it.
        logits = model(**batch).logits[:, :-1].flatten(0, 1)
        (torch.nn.functional.cross_entropy(logits, targets, reduction="sum") / 7).backward()

    assert ("3 tokens that should not be scored have a gradient",) == report.verdicts[0].faults
    np.testing.assert_allclose(report.rows[0].weight, [1 / 7] * 5, rtol=1e-5)


@pytest.mark.parametrize("own", [False, True])
def test_the_models_own_forwards_are_put_back(own):
    model = models.soft_capped()
    touched = (model.model, model.lm_head)
    if own:
        for module in touched:
            module.forward = module.forward
    before = [module.__dict__.get("forward") for module in touched]

    with watch(model):
        model(**make_batch(random_ids(2, 6).tolist())).loss.backward()

    assert before == [module.__dict__.get("forward") for module in touched]


def test_reading_a_report_runs_no_softmax_again(monkeypatch):
    model, runs = models.llama(), []
    counted = LinearHead.slice
    monkeypatch.setattr(LinearHead, "slice", lambda *args: runs.append(1) or counted(*args))

    with watch(model) as report:
        for rows in random_ids(4, 6).tolist():
            model(**make_batch([rows])).loss.backward()
    read_once = len(runs)
    report.assert_pure_rescaling()
    str(report), report.to_json(), report.verdicts

    assert read_once == len(runs) == 4


def test_the_head_is_looked_for_once(monkeypatch):
    model, made = models.llama(), []
    monkeypatch.setattr(
        LinearHead, "__init__", lambda head, linear, init=LinearHead.__init__: made.append(init(head, linear))
    )

    with watch(model):
        for rows in random_ids(4, 6).tolist():
            model(**make_batch([rows])).loss.backward()

    assert 1 == len(made)


def test_a_micro_batch_without_targets_weighs_nothing():
    model, batches = models.llama(), [make_batch([row]) for row in random_ids(2, 5).tolist()]
    batches[1]["labels"].fill_(-100)

    with watch(model) as report:
        for batch in batches:
            model(**batch, num_items_in_batch=4).loss.backward()

    report.assert_token_mean()
    assert [[4], [0]] == report.windows[0].counts()
