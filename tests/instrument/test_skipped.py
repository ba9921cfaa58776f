"""Gradients that are not finite: a step that is left out is no window, one that is made on them is an error."""

import pytest
import torch

from closed_forms.aggregation import mean_of_micro_batch_means
from instrument import watch
from instrument.api import expected_weights
from tests.instrument import models
from tests.instrument.loops import batches

watched = pytest.mark.parametrize("with_optimizer", [False, True], ids=["weights", "with the optimizer"])


class Overflow:
    """Spoils one backward of a run, at the loss or in the gradient of one parameter alone."""

    def __init__(self, where):
        self.where = where

    def backward(self, model, loss):
        if self.where == "loss":
            (loss * float("nan")).backward()
            return
        weight = model.model.layers[0].mlp.up_proj.weight
        hook = weight.register_hook(lambda gradient: gradient * float("inf"))
        loss.backward()
        hook.remove()


def run(model, optimizer, spoilt, where, windows=3, late=False, steps=False):
    """Windows of three micro-batches; in those named by `spoilt` one overflows and the loop leaves the step out.

    Args:
        spoilt: {window: micro-batch}.
        late: empty the gradient between the next window's first forward and its backward.
        steps: step all the same.
    """
    for window in range(windows):
        for number, batch in enumerate(batches()):
            loss = model(**batch).loss / 3
            if late and number == 0:
                optimizer.zero_grad()
            if spoilt.get(window) == number:
                Overflow(where).backward(model, loss)
            else:
                loss.backward()
        if steps or window not in spoilt:
            optimizer.step()
        if not late:
            optimizer.zero_grad()


def assert_right(report, windows):
    report.assert_weights(expected_weights(report, mean_of_micro_batch_means))
    assert [3] * windows == [len(window.rows) for window in report.windows]
    for window in report.windows:
        if window.after is not None:
            assert {"last norm", "head", "embedding rows"} == {s.place for s in window.after.sums}
            assert window.after.reach.arrived.shape[1] == 3
    assert all("token weights follow the mean of micro-batch means" in v.faults[0] for v in report.verdicts)
    assert all(len(v.faults) == 1 for v in report.verdicts)


@watched
@pytest.mark.parametrize("late", [False, True], ids=["emptied behind the step", "emptied behind the next forward"])
@pytest.mark.parametrize("where", ["loss", "one parameter"])
@pytest.mark.parametrize("spoilt", [{0: 0}, {0: 2}, {1: 1}, {2: 2}, {0: 1, 2: 0}], ids=str)
def test_a_window_whose_step_is_left_out_is_none(spoilt, where, late, with_optimizer):
    model = models.llama()
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.1, weight_decay=0.0)
    with watch(model, optimizer if with_optimizer else None) as report:
        run(model, optimizer, spoilt, where, late=late)

    assert_right(report, 3 - len(spoilt))
    numbers = [window - earlier for earlier, window in enumerate(sorted(spoilt))]
    words = "gradients that were not finite were thrown away without a step of the optimizer"
    assert [f"before window {number}, {words}" for number in numbers] == report.record.notes


@watched
@pytest.mark.parametrize("fused", [False, True])
def test_a_loss_scaler_that_leaves_steps_out_is_followed(fused, with_optimizer):
    model = models.llama().float()
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.01, weight_decay=0.0, fused=fused)
    # 2^127 overflows; 2^17 does not.
    scaler = torch.amp.GradScaler("cpu", init_scale=2.0**127, backoff_factor=2.0**-110)
    with watch(model, optimizer if with_optimizer else None) as report:
        for _ in range(3):
            for batch in batches():
                scaler.scale(model(**batch).loss / 3).backward()
            scaler.step(optimizer)
            scaler.update()
            optimizer.zero_grad()

    assert 2.0**17 == scaler.get_scale()
    assert [3, 3] == [len(window.rows) for window in report.windows]
    assert 1 == len(report.record.notes)
    scaled = [2.0**17 * weight for weight in expected_weights(report, mean_of_micro_batch_means)]
    report.assert_weights(scaled)


def test_a_step_on_a_gradient_that_is_not_finite_at_the_read_point_is_an_error():
    model = models.llama()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    with pytest.raises(ValueError, match="holds nan or inf in forward 4"), watch(model, optimizer):
        run(model, optimizer, {1: 1}, "loss", steps=True)


def test_a_step_on_the_gradient_of_one_parameter_that_is_not_finite_is_a_fault():
    model = models.llama()
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.1)
    with watch(model, optimizer) as report:
        run(model, optimizer, {0: 1}, "one parameter", windows=1, steps=True)

    name = "model.layers.0.mlp.up_proj.weight"
    assert f"the step consumed gradients that are not finite, of {name}" in report.verdicts[0].faults


def test_where_every_step_is_left_out_nothing_was_measured():
    model = models.llama()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    said = "the gradient of each of 2 windows was not finite and no step followed"
    with pytest.raises(RuntimeError, match=said), watch(model, optimizer):
        run(model, optimizer, {0: 1, 1: 1}, "one parameter", windows=2)


@watched
def test_a_window_that_is_thrown_away_leaves_the_run_as_it_is(with_optimizer):
    def trained(is_watched):
        model = models.llama()
        optimizer = torch.optim.AdamW(model.parameters(), lr=0.1)
        if is_watched:
            with watch(model, optimizer if with_optimizer else None):
                run(model, optimizer, {1: 1}, "one parameter")
        else:
            run(model, optimizer, {1: 1}, "one parameter")
        return [p.detach().clone() for p in model.parameters()]

    for plain, seen in zip(trained(False), trained(True), strict=True):
        assert torch.equal(plain, seen)
