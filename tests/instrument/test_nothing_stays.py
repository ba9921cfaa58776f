"""When the block ends, no hook is left and no tensor of a finished step; a user's exception comes out unchanged."""

import gc
import weakref

import pytest
import torch
from torch.optim.optimizer import _global_optimizer_pre_hooks

from instrument import make_batch, watch, xray
from tests.instrument import models
from tests.instrument.loops import ROWS, batches, sgd


def test_no_tensor_of_a_finished_step_is_alive():
    model = models.llama()
    optimizer = sgd(model)
    kept = []
    handle = model.model.norm.register_forward_hook(lambda module, args, output: kept.append(weakref.ref(output)))
    gc.disable()
    try:
        with watch(model):
            for row in ROWS:
                assert [None] * len(kept) == [reference() for reference in kept]
                batch = make_batch([row])
                kept.append(weakref.ref(batch["labels"]))
                model(**batch).loss.backward()
                optimizer.step()
                optimizer.zero_grad()
                del batch
    finally:
        gc.enable()
        handle.remove()

    assert 6 == len(kept)


@pytest.mark.parametrize(("instrument", "steps"), [("probe", 60), ("live", 200)])
def test_many_steps_keep_no_more_tensors_than_twenty(instrument, steps):
    counts = []

    def train(model, rows):
        optimizer = sgd(model)
        for number in range(steps):
            model(**make_batch([rows[number % len(rows)]])).loss.backward()
            optimizer.step()
            optimizer.zero_grad()
            if number in (20, steps - 1):
                gc.collect()
                counts.append(sum(type(thing) is torch.Tensor for thing in gc.get_objects()))

    if instrument == "probe":
        xray(train, [3, 4])
    else:
        model = models.llama(num_hidden_layers=1)
        with watch(model):
            train(model, [ROWS[2], ROWS[1]])

    assert counts[0] == counts[1]


def hooks(model):
    """Every hook of the model, and the global ones of optimizers."""
    of_modules = [
        (module._forward_hooks, module._forward_pre_hooks, module._backward_hooks) for module in model.modules()
    ]
    of_tensors = [(p._backward_hooks, p._post_accumulate_grad_hooks) for p in model.parameters()]
    return (
        [len(table) for tables in of_modules for table in tables]
        + [len(table or ()) for tables in of_tensors for table in tables],
        len(_global_optimizer_pre_hooks),
    )


class Stop(Exception):
    """What a user's code may raise."""


@pytest.mark.parametrize("raises", [False, True])
def test_every_hook_is_gone_after_a_watched_block(raises):
    model = models.llama()
    before = hooks(model)

    try:
        with watch(model):
            during = hooks(model)
            model(**batches()[0]).loss.backward()
            if raises:
                raise Stop
    except Stop:
        pass

    assert before != during
    assert before == hooks(model)


@pytest.mark.parametrize("raises", [False, True])
def test_every_hook_is_gone_after_an_xray(raises):
    seen = []

    def step(model, rows):
        seen.append((model, hooks(model)))
        model(**make_batch(rows)).loss.backward()
        if raises:
            raise Stop

    try:
        xray(step, [4])
    except Stop:
        pass

    model, during = seen[0]
    assert sum(during[0]) > 0
    assert sum(hooks(model)[0]) == 0
    assert during[1] - 1 == hooks(model)[1]


@pytest.mark.parametrize("when", ["before the model runs", "between forward and backward", "after a window"])
def test_the_users_exception_comes_out_unchanged(when):
    model, error = models.llama(), Stop("theirs")

    with pytest.raises(Stop) as caught, watch(model):
        if when == "before the model runs":
            raise error
        loss = model(**batches()[0]).loss
        if when == "between forward and backward":
            raise error
        loss.backward()
        raise error

    assert error is caught.value
    assert not hasattr(error, "__notes__")
    assert (error.__cause__, error.__context__) == (None, None)


def test_a_users_exception_says_that_measuring_had_stopped():
    model, (batch, *_) = models.llama(), batches()

    with pytest.raises(Stop) as caught, watch(model):
        (model(**batch).loss * float("nan")).backward()
        raise Stop

    assert "weighbridge had stopped measuring" in caught.value.__notes__[0]
    assert "holds nan or inf" in caught.value.__notes__[0]


def test_a_block_can_be_watched_again():
    model = models.llama()
    reports = []

    for batch in batches():
        with watch(model) as report:
            model(**batch).loss.backward()
        reports.append(report)

    assert [5, 4, 2] == [report.windows[0].targets() for report in reports]


def test_two_watches_of_one_model_read_the_same():
    model = models.llama()

    with watch(model) as outer, watch(model) as inner:
        model(**batches()[0]).loss.backward()

    assert outer.to_json() == inner.to_json()
