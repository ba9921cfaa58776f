"""An optimizer that is stepped with a closure, as by Lightning: the window ends behind it, before anything moves."""

import numpy as np
import pytest
import torch

from instrument import make_batch, watch, xray
from tests.instrument import models
from tests.instrument.loops import ROWS, batches
from tests.instrument.scripts import LOOP, alone, run, script

# All that step dense parameters of any shape and call a closure once. LBFGS takes a whole line search otherwise.
OPTIMIZERS = {
    name: lambda *args, name=name, **options: getattr(torch.optim, name)(*args, **options)
    for name in (
        *("Adadelta", "Adafactor", "Adagrad", "Adam", "AdamW", "Adamax", "ASGD", "NAdam", "RAdam", "RMSprop", "Rprop"),
        "SGD",
    )
} | {"LBFGS": lambda parameters, lr: torch.optim.LBFGS(parameters, lr=lr, max_iter=1)}


def window(model, optimizer, way):
    """One window of three micro-batches, the mean of their means; the last one runs in the closure."""
    *first, last = batches()

    def backward(batch):
        loss = model(**batch).loss / 3
        loss.backward()
        return loss

    for batch in first:
        backward(batch)
    if way == "without":
        backward(last)
        optimizer.step()
        found = None
    elif way == "by name":
        found = optimizer.step(closure=lambda: backward(last))
    else:
        found = optimizer.step(lambda: backward(last))
    optimizer.zero_grad()
    return found


def weights(make, way, with_optimizer=False):
    model = models.llama()
    optimizer = make(model.parameters(), lr=0.01)
    with watch(model, optimizer if with_optimizer else None) as report:
        for _ in range(2):
            window(model, optimizer, way)
    return report, model


@pytest.mark.parametrize("way", ["by name", "by place"])
@pytest.mark.parametrize("name", OPTIMIZERS)
def test_a_window_that_ends_in_a_closure_weighs_what_it_weighs_without(name, way):
    # LBFGS cannot step without one.
    other = "SGD" if name == "LBFGS" else name
    plain, inside = weights(OPTIMIZERS[other], "without")[0], weights(OPTIMIZERS[name], way)[0]

    assert 2 == len(inside.windows)
    assert "mean of micro-batch means, M = 3" == inside.verdicts[0].name
    for one, two in zip(plain.windows[0].rows, inside.windows[0].rows):
        assert one.micro_batch == two.micro_batch
        np.testing.assert_array_equal(one.weight, two.weight)


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_training_with_a_closure_is_bitwise_what_it_is_unwatched(name):
    _, watched = weights(OPTIMIZERS[name], "by place", with_optimizer=True)
    alone = models.llama()
    optimizer = OPTIMIZERS[name](alone.parameters(), lr=0.01)
    for _ in range(2):
        window(alone, optimizer, "by place")

    for one, other in zip(watched.parameters(), alone.parameters()):
        assert torch.equal(one, other)


@pytest.mark.parametrize("name", ["Adam", "AdamW", "SGD"])
def test_what_follows_backward_is_judged_behind_the_closure(name):
    report, _ = weights(OPTIMIZERS[name], "by place", with_optimizer=True)

    for verdict in report.verdicts:
        # The mean of means is what this loop does; nothing else is wrong.
        assert ["token weights follow the mean of micro-batch means"] == [f.split(",")[0] for f in verdict.faults]
        assert ["loss", "backward", "clip", "step"] == [line.split()[0] for line in verdict.stages]
        assert not any("FAULT" in line for line in verdict.stages[1:])


def test_what_the_closure_returns_comes_back():
    model = models.llama()
    with watch(model):
        found = window(model, torch.optim.SGD(model.parameters(), lr=0.01), "by place")

    assert 0 == found.ndim


def test_a_step_inside_a_step_is_part_of_it():
    class Ours(torch.optim.AdamW):
        def step(self, closure=None):
            return super().step(closure)

    # Its parent's own step is hooked as soon as one of it was made.
    torch.optim.AdamW([torch.nn.Parameter(torch.ones(1))])
    report, _ = weights(Ours, "by place", with_optimizer=True)

    assert [3, 3] == [window.micro_batches for window in report.windows]
    assert [1, 1] == [window.after.step.steps for window in report.windows]


def test_the_optimizer_of_another_model_may_call_its_closure_as_often_as_it_likes():
    model, other = models.llama(), torch.nn.Linear(2, 2)
    with watch(model) as report:
        for batch in batches():
            (model(**batch).loss / 3).backward()
        torch.optim.LBFGS(other.parameters(), max_iter=5).step(lambda: other(torch.ones(1, 2)).square().sum())
        torch.optim.SGD(model.parameters(), lr=0.01).step()

    assert 1 == len(report.windows)


def test_a_closure_that_is_called_again_is_refused():
    model = models.llama()
    with pytest.raises(ValueError, match="LBFGS called the closure of its step again"), watch(model):
        window(model, torch.optim.LBFGS(model.parameters(), lr=0.01, max_iter=3), "by place")


def test_a_closure_that_is_never_called_is_refused():
    class Deaf(torch.optim.SGD):
        def step(self, closure=None):
            return super().step()

    model = models.llama()
    with pytest.raises(ValueError, match="Deaf never called the closure of its step"), watch(model):
        window(model, Deaf(model.parameters(), lr=0.01), "by place")


def test_parameters_that_the_step_moves_before_its_closure_are_refused():
    class Ascent(torch.optim.SGD):
        """Steps up first, as SAM does, and reads the gradient there."""

        def step(self, closure=None):
            with torch.no_grad():
                for group in self.param_groups:
                    for parameter in group["params"]:
                        parameter.add_(parameter.grad)
            return super().step(closure)

    model = models.llama()
    with pytest.raises(ValueError, match="parameters changed between two forwards"), watch(model):
        window(model, Ascent(model.parameters(), lr=0.01), "by place")


def test_an_exception_in_a_closure_is_the_loops_own():
    model = models.llama()

    def fails():
        raise OSError("disk is full")

    with pytest.raises(OSError, match="disk is full"), watch(model):
        torch.optim.SGD(model.parameters(), lr=0.01).step(fails)


def test_a_step_on_tracer_rows_may_have_a_closure():
    def step(model, rows):
        def closure():
            loss = model(**make_batch(rows)).loss
            loss.backward()
            return loss

        torch.optim.SGD(model.parameters(), lr=0.01).step(closure)

    xray(step, [len(row) for row in ROWS]).assert_token_mean()


def test_a_script_that_steps_with_a_closure_is_told_of():
    text = LOOP.replace(
        "            (model(input_ids=ids, labels=ids).loss / 2).backward()\n        optimizer.step()",
        "            def closure(ids=ids): (model(input_ids=ids, labels=ids).loss / 2).backward()\n"
        "            if n == 4: closure()\n        optimizer.step(closure)",
    )
    name = script(text)

    result = run(name)

    assert "FAULT [mean-of-micro-batch-means]" in result.stderr
    assert alone(name) == result.stdout
