"""Two runs of one loop, without the instrument and with it, and what is not bitwise the same after them."""

import torch

from instrument import build_probe, make_batch, tracer_rows, watch, watch_leaks, xray_rows
from instrument.leak_probe import build_leak_probe
from instrument.probe import vocabulary_for

PARTS = ["parameters", "random state", "modes", "hooks"]


def train(model, rows):
    """Two steps of gradient descent; the random state that they start from is always the same."""
    torch.manual_seed(0)
    optimizer = torch.optim.SGD([p for p in model.parameters() if p.requires_grad], lr=1e-2)
    for some in (rows[:2], rows[2:]):
        model(**make_batch(some)).loss.backward()
        optimizer.step()
        optimizer.zero_grad()


def state(model):
    """Each of PARTS, as bytes that can be compared."""
    modules = dict(model.named_modules())
    return [
        {name: p.detach().numpy().tobytes() for name, p in model.named_parameters()},
        torch.get_rng_state().numpy().tobytes(),
        {name: m.training for name, m in modules.items()},
        {name: (len(m._forward_hooks), len(m._forward_pre_hooks)) for name, m in modules.items()},
    ]


def touched(alone, measured):
    """[p] whether each part differs."""
    return [[a != b for a, b in zip(alone, measured)]], [{"parts": PARTS}]


def watched_or_not():
    """A small Llama, watched or not."""
    rows = tracer_rows([4, 6, 3, 5])
    models = [build_leak_probe(vocabulary_for(rows)) for _ in range(2)]
    train(models[0], rows)
    alone = state(models[0])
    with watch(models[1]):
        train(models[1], rows)
    return touched(alone, state(models[1]))


def probed_or_not():
    """The probe, trained alone or by xray."""
    rows = tracer_rows([4, 6, 3, 5])
    model = build_probe(vocabulary_for(rows))
    train(model, rows)
    alone, measured = state(model), []

    def step(model, rows):
        train(model, rows)
        measured.append(model)

    xray_rows(step, rows)
    return touched(alone, state(measured[0]))


def searched_or_not():
    """A small Llama, whose first batch is searched for leaks or not."""
    rows = tracer_rows([4, 6, 3, 5])
    models = [build_leak_probe(vocabulary_for(rows)) for _ in range(2)]
    train(models[0], rows)
    alone = state(models[0])
    with watch_leaks(models[1]):
        train(models[1], rows)
    return touched(alone, state(models[1]))


def searched_with_dropout_or_not():
    """The same with dropout in attention, which draws random numbers in every forward."""
    rows = tracer_rows([4, 6, 3, 5])
    models = [build_leak_probe(vocabulary_for(rows), attention_dropout=0.5).train() for _ in range(2)]
    train(models[0], rows)
    alone = state(models[0])
    with watch_leaks(models[1]):
        train(models[1], rows)
    return touched(alone, state(models[1]))


ABSENCE = (watched_or_not, probed_or_not, searched_or_not, searched_with_dropout_or_not)
