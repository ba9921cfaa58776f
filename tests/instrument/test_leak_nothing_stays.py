"""A search leaves no trace: not in the model, not in the random states, not in the training around it."""

import copy
import random

import numpy as np
import pytest
import torch

from instrument import watch
from instrument.capture import Replay
from instrument.leak import find_leaks, leak_matrix
from instrument.leak_probe import build_leak_probe
from instrument.leak_watch import watch_leaks
from instrument.loops.trainer import run_trainer
from instrument.probe import make_batch, tracer_rows
from tests.instrument import models
from tests.instrument.leak_models import Normalised, Tagger, padded_batch


def state_of(model):
    """All that a search could leave behind."""
    return {
        "values": {name: value.clone() for name, value in model.state_dict().items()},
        "buffers": {name: id(value) for name, value in model.named_buffers()},
        "asked": {name: p.requires_grad for name, p in model.named_parameters()},
        "grads": {name: p.grad if p.grad is None else p.grad.clone() for name, p in model.named_parameters()},
        "modes": {name: m.training for name, m in model.named_modules()},
        "hooks": {name: (len(m._forward_hooks), len(m._forward_pre_hooks)) for name, m in model.named_modules()},
        "random": [torch.get_rng_state(), random.getstate(), np.random.get_state()[1]],
    }


class Restless(Normalised):
    """Draws, drops out, keeps statistics."""

    def forward(self, input_ids):
        random.random()
        np.random.random()
        return torch.nn.functional.dropout(super().forward(input_ids), 0.3, self.training)


@pytest.mark.parametrize("search", [find_leaks, leak_matrix])
def test_the_model_and_the_random_states_are_as_before(search):
    model = Restless().train()
    model.lookup.eval().requires_grad_(False)
    model.head.weight.grad = torch.ones_like(model.head.weight)
    before = state_of(model)

    search(model, padded_batch())
    torch.testing.assert_close(state_of(model), before, rtol=0, atol=0)


def test_all_is_as_before_when_a_pass_fails():
    class Fails(Restless):
        def forward(self, input_ids):
            super().forward(input_ids)
            raise KeyError("mine")

    model = Fails()
    before = state_of(model)

    with pytest.raises(KeyError, match="mine"):
        find_leaks(model, padded_batch())
    torch.testing.assert_close(state_of(model), before, rtol=0, atol=0)


def test_the_batch_is_as_before():
    batch = padded_batch()
    before = copy.deepcopy(batch)

    find_leaks(Tagger(), batch)
    torch.testing.assert_close(batch, before, rtol=0, atol=0)


def test_every_pass_drops_the_same():
    seen = []

    class Notes(Tagger):
        def forward(self, input_ids):
            logits = torch.nn.functional.dropout(super().forward(input_ids), 0.5)
            seen.append(logits.detach())
            return logits

    find_leaks(Notes(), padded_batch())
    assert len(seen) == 5
    for logits in seen[1:]:
        torch.testing.assert_close(logits, seen[0], rtol=0, atol=0)


def trained(context):
    """Weights after a few steps with dropout."""
    rows = tracer_rows([5, 3, 6, 4, 7, 2])
    model = build_leak_probe(30, attention_dropout=0.2)
    torch.manual_seed(3)
    with context(model) as found:
        logged = run_trainer(model, rows, micro_batch=2, learning_rate=1e-2)
    return model.state_dict(), logged, found


def test_training_under_watch_is_bitwise_the_training_without():
    plain, watched = trained(lambda model: torch.enable_grad()), trained(watch_leaks)

    torch.testing.assert_close(watched[:2], plain[:2], rtol=0, atol=0)
    assert [bool(leaks) for leaks in watched[2]] == [False]


@pytest.mark.parametrize(("batches", "searched"), [(1, 1), (2, 2), (9, 3)])
def test_as_many_batches_are_searched_as_asked_for(batches, searched):
    _, _, found = trained(lambda model: watch_leaks(model, batches=batches))

    assert len(found) == searched


def test_another_instrument_on_the_model_takes_no_notice():
    rows = tracer_rows([5, 3, 6, 4])
    model = build_leak_probe(30)

    with watch(model) as report, watch_leaks(model):
        run_trainer(model, rows, micro_batch=4)
    assert report.ok
    assert [window.forwards for window in report.windows] == [1]


def test_gradients_are_not_checkpointed_away():
    model = build_leak_probe(30)
    models.checkpoint(model, True)
    model.train()
    ids = make_batch(tracer_rows([5, 3]))

    assert not find_leaks(model, ids)
    assert len(find_leaks(model, {**ids, "attention_mask": torch.ones(2, 1, 5, 5)}, [[0, 0, 1, 1, 1]] * 2).pairs) == 4


def test_a_model_that_names_no_input_embeddings_is_searched(monkeypatch):
    def refuse():
        raise NotImplementedError("none")

    model = build_leak_probe(30)
    monkeypatch.setattr(model, "get_input_embeddings", refuse)

    assert not find_leaks(model, make_batch(tracer_rows([5, 3])))


def test_a_search_that_cannot_begin_leaves_every_instrument_awake(monkeypatch):
    def fail():
        raise RuntimeError("no embeddings today")

    model = build_leak_probe(30)
    monkeypatch.setattr(model, "get_input_embeddings", fail)

    with pytest.raises(RuntimeError, match="no embeddings today"):
        find_leaks(model, make_batch(tracer_rows([5, 3])))
    assert Replay.running == 0
