"""The capture survives what training loops do to a model, and leaves nothing behind."""

import gc
import weakref

import numpy as np
import pytest
import torch
from torch import nn
from torch.optim.optimizer import _global_optimizer_pre_hooks
from torch.utils.checkpoint import checkpoint

from instrument import make_batch, tracer_rows, watch, xray
from instrument.capture import Capture
from instrument.record import padding_share
from tests.instrument import models

ROWS = ((5, 9, 7, 5, 11, 6), (8, 5, 4, 9, 7), (12, 6, 10))


def batches(*rows):
    """One batch per row."""
    return [make_batch([row]) for row in rows or ROWS]


def sgd(model, lr=0.0):
    """An optimizer on what trains."""
    return torch.optim.SGD([p for p in model.parameters() if p.requires_grad], lr=lr)


def freeze_all_but(model, part):
    """Leave one parameter trainable, or a part of the model."""
    for name, parameter in model.named_parameters():
        parameter.requires_grad_(part in name)


def window_weights(report):
    """[window][row] weight of the first target."""
    return [[float(row.weight[0]) for row in window.rows] for window in report.windows]


def assert_window_weights(expected, report):
    """Window by window, row by row; 1e-6 is far below what is told apart here."""
    assert [len(rows) for rows in expected] == [len(window.rows) for window in report.windows]
    for rows, weights in zip(expected, window_weights(report)):
        np.testing.assert_allclose(weights, rows, rtol=1e-6)


# Forwards and backwards that do not pair up.


def test_a_forward_without_backward_is_forgotten():
    model, (first, second, _) = models.llama(), batches()

    with watch(model) as report:
        model(**first)
        model(**second).loss.backward()

    assert_window_weights([[1 / 4]], report)
    assert list(ROWS[1]) == report.rows[0].ids.tolist()
    assert 1 == report.windows[0].forwards


def test_a_forward_without_gradients_is_not_noted():
    model, (first, second, _) = models.llama(), batches()

    with watch(model) as report:
        with torch.no_grad():
            model(**first)
        model(**second).loss.backward()
        with torch.inference_mode():
            model(**first)

    assert_window_weights([[1 / 4]], report)


def test_a_detached_branch_is_forgotten():
    model, (first, second, _) = models.llama(), batches()

    with watch(model) as report:
        (model(**first).loss.detach() * model(**second).loss).backward()

    assert list(ROWS[1]) == report.rows[0].ids.tolist()
    assert 1 == len(report.rows)


def test_two_forwards_of_one_backward_are_read_apart():
    model, (first, second, _) = models.llama(), batches()

    with watch(model) as report:
        (0.25 * model(**first).loss + 0.75 * model(**second).loss).backward()

    by_ids = {tuple(row.ids): row.weight for row in report.rows}
    np.testing.assert_allclose(by_ids[ROWS[0]], [0.25 / 5] * 5, rtol=1e-6)
    np.testing.assert_allclose(by_ids[ROWS[1]], [0.75 / 4] * 4, rtol=1e-6)
    assert (1, 2) == (report.windows[0].micro_batches, report.windows[0].forwards)


def test_one_forward_of_two_backwards_counts_twice():
    model, (first, _, _) = models.llama(), batches()

    with watch(model) as report:
        loss = model(**first).loss
        loss.backward(retain_graph=True)
        loss.backward()

    assert_window_weights([[1 / 5, 1 / 5]], report)
    assert [0, 1] == [row.micro_batch for row in report.rows]


def test_one_forward_of_two_backwards_adds_up_in_the_parameters():
    def step(model, rows):
        loss = model(**make_batch(rows)).loss
        loss.backward(retain_graph=True)
        loss.backward()

    report = xray(step, [4, 6])

    np.testing.assert_allclose(np.concatenate(report.weights), [2 / 8] * 8, rtol=1e-6)
    assert "token mean times M = 2" == report.verdicts[0].name
    assert not report.ok


def test_a_gradient_asked_for_by_hand_is_seen():
    model, (first, _, _) = models.llama(), batches()

    with watch(model) as report:
        loss = model(**first).loss
        torch.autograd.grad(loss, list(model.parameters()))

    assert_window_weights([[1 / 5]], report)
    assert 0 == report.windows[0].reached
    assert not report.ok


def test_a_backward_that_raised_does_not_swallow_the_next():
    model, (first, second, third) = models.llama(), batches()
    optimizer = sgd(model)

    with watch(model) as report:
        handle = model.model.layers[0].register_full_backward_hook(lambda *_: 1 / 0)
        broken = model(**first).loss
        with pytest.raises(ZeroDivisionError):
            broken.backward()
        handle.remove()
        optimizer.step()
        optimizer.zero_grad()
        model(**second).loss.backward()
        model(**third).loss.backward()
        optimizer.step()

    assert [1, 2] == [window.micro_batches for window in report.windows]


# Checkpointing and frozen parts.


@pytest.mark.parametrize("reentrant", [False, True])
@pytest.mark.parametrize("part", ["", "embed_tokens", "lm_head", "layers.1.self_attn.q_proj"])
def test_weights_survive_checkpointing_and_freezing(reentrant, part):
    model = models.llama()
    freeze_all_but(model, part)
    model.activation_checkpointing_enable({"use_reentrant": reentrant})
    model.train()
    optimizer = sgd(model)

    with watch(model) as report:
        for batch in batches():
            model(**batch, use_cache=False).loss.backward()
        optimizer.step()

    assert_window_weights([[1 / 5, 1 / 4, 1 / 2]], report)
    assert (3, 3) == (report.windows[0].micro_batches, report.windows[0].forwards)


@pytest.mark.parametrize("reentrant", [False, True])
def test_the_probe_survives_checkpointing(reentrant):
    def step(model, rows):
        model.activation_checkpointing_enable({"use_reentrant": reentrant})
        model.train()
        model(**make_batch(rows), use_cache=False).loss.backward()
        modes.append(all(module.training for module in model.modules()))
        kept.append(model)

    modes, kept = [], []
    report = xray(step, [4, 6])

    report.assert_token_mean()
    assert [True] == modes
    assert all(module.training for module in kept[0].modules())


@pytest.mark.parametrize("reentrant", [False, True])
def test_the_whole_model_may_be_checkpointed(reentrant):
    model = models.llama()
    anchor = torch.ones((), requires_grad=True)

    with watch(model) as report:
        for batch in batches():
            # Reentrant checkpointing wants an input that requires a gradient.
            run = lambda anchor, batch=batch: anchor * model(**batch).loss  # noqa: E731
            checkpoint(run, anchor, use_reentrant=reentrant).backward()

    assert_window_weights([[1 / 5, 1 / 4, 1 / 2]], report)
    assert 3 == report.windows[0].micro_batches


class CheckpointedNorm(models.Written):
    """Checkpoints the block that holds the read point."""

    def forward(self, tokens, labels=None):
        # The head is in it, so that the norm is run again to the end.
        return checkpoint(lambda x: self.out(self.norm(self.mix(x)[0])), self.embed(tokens), use_reentrant=False)


def test_the_block_of_the_read_point_may_be_checkpointed():
    model, tokens = models.seeded(CheckpointedNorm), torch.tensor([ROWS[0]])

    with watch(model, read_point="norm", head="out") as report:
        for _ in range(3):
            nn.functional.cross_entropy(model(tokens)[0, :-1], tokens[0, 1:]).backward()

    assert_window_weights([[1 / 5] * 3], report)


def test_a_lone_trainable_parameter_that_no_gradient_reaches_is_told():
    model = models.llama()
    freeze_all_but(model, "layers.0.self_attn.q_proj")
    layer = model.model.layers[0]
    inner = layer.forward
    layer.forward = lambda x, **kwargs: checkpoint(lambda x: inner(x, **kwargs), x, use_reentrant=True)

    with pytest.warns(UserWarning, match="None of the inputs have requires_grad=True"), watch(model) as report:
        model(**batches()[0], use_cache=False).loss.backward()

    assert_window_weights([[1 / 5]], report)
    assert "0 of 1 trainable parameters hold a gradient" in report.verdicts[0].faults
    with pytest.raises(AssertionError, match="0 of 1 trainable parameters hold a gradient"):
        report.assert_token_mean()


# Where a window ends.


def test_an_optimizer_of_another_model_ends_no_window():
    model, other = models.llama(), nn.Linear(2, 2)
    mine, theirs = sgd(model), sgd(other)

    with watch(model) as report:
        for batch in batches():
            model(**batch).loss.backward()
            other(torch.ones(2)).sum().backward()
            theirs.step()
        mine.step()

    assert_window_weights([[1 / 5, 1 / 4, 1 / 2]], report)
    assert report.windows[0].stepped


def test_two_optimizers_of_one_model_end_a_window_once():
    model = models.llama()
    head = torch.optim.SGD(model.lm_head.parameters(), lr=0.1)
    body = torch.optim.AdamW(model.model.parameters(), lr=0.1)

    with watch(model) as report:
        for batch in batches():
            model(**batch).loss.backward()
            for optimizer in (head, body):
                optimizer.step()
                optimizer.zero_grad()

    assert_window_weights([[1 / 5], [1 / 4], [1 / 2]], report)


def test_steps_without_a_backward_are_no_windows():
    model = models.llama()
    optimizer = sgd(model)

    with watch(model) as report:
        optimizer.step()
        model(**batches()[0]).loss.backward()
        optimizer.step()
        optimizer.step()

    assert 1 == len(report.windows)


def test_what_no_step_followed_is_a_window_and_says_so():
    model = models.llama()
    optimizer = sgd(model)

    with watch(model) as report:
        for batch in batches()[:2]:
            model(**batch).loss.backward()
            optimizer.step()
        model(**batches()[2]).loss.backward()

    assert [True, True, False] == [window.stepped for window in report.windows]
    assert ("no optimizer step followed",) == report.verdicts[2].remarks


def test_weights_are_read_before_the_step_moves_the_parameters():
    def step(model, rows):
        optimizer = sgd(model, lr=1.0)
        for row in rows:
            model(**make_batch([row])).loss.backward()
            optimizer.step()
            optimizer.zero_grad()

    xray(step, [4, 6, 3]).assert_token_mean()


def test_what_happens_to_the_gradient_after_backward_is_not_in_the_weights():
    def step(model, rows):
        optimizer = sgd(model)
        model(**make_batch(rows)).loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1e-3)
        optimizer.step()

    xray(step, [4, 6, 3]).assert_token_mean()


def test_a_gradient_that_is_never_zeroed_shows_as_carried_rows():
    def step(model, rows):
        optimizer = sgd(model)
        for row in rows:
            model(**make_batch([row])).loss.backward()
            optimizer.step()

    report = xray(step, [4, 6, 3])

    assert [[], [4], [4, 6]] == [[len(row.ids) for row in window.carried] for window in report.windows]
    np.testing.assert_allclose(report.windows[2].carried[1].weight, [1 / 5] * 5, rtol=1e-6)
    assert [0, 1, 2] == [
        sum("did not run in this window" in f for f in v.faults) * n for n, v in enumerate(report.verdicts)
    ]
    with pytest.raises(AssertionError, match="still holds 1 rows that did not run"):
        report.assert_token_mean()


def test_a_gradient_that_is_zeroed_carries_nothing():
    def step(model, rows):
        for row in rows:
            model(**make_batch([row])).loss.backward()
            sgd(model).step()
            model.zero_grad()

    assert [[], [], []] == [window.carried for window in xray(step, [4, 6, 3]).windows]


# Nothing stays.


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


# What a forward was about.


def captured(call, **more):
    """The Forward that the capture hands over."""
    model, seen = models.written(), []
    capture = Capture(
        model, model.norm, "the norm", lambda forward, output, gradient: seen.append(forward), lambda w: None
    )
    with capture:
        call(model, **more).sum().backward()
    return seen[0]


def test_labels_are_put_in_place_of_the_token_that_predicts_them():
    tokens = torch.tensor([[5, 6, 7]])

    forward = captured(lambda model: model(tokens, labels=torch.tensor([[5, -100, 7]])))

    assert [[-100, 7, -100]] == forward.labels.tolist()
    assert [[5, 6, 7]] == forward.input_ids.tolist()


@pytest.mark.parametrize("call", [lambda m, t, y: m(t, y), lambda m, t, y: m(labels=y, tokens=t)])
def test_arguments_are_known_by_name_however_they_are_passed(call):
    tokens, labels = torch.tensor([[5, 6, 7]]), torch.tensor([[-100, 6, 7]])

    forward = captured(lambda model: call(model, tokens, labels))

    assert [[5, 6, 7]] == forward.input_ids.tolist()
    assert [[6, 7, -100]] == forward.labels.tolist()


def test_token_ids_are_the_whole_numbers_among_the_arguments():
    class Weighted(models.Written):
        def forward(self, weights, scale, mask, tokens):
            return super().forward(tokens)

    model, seen = models.seeded(Weighted), []
    capture = Capture(model, model.norm, "the norm", lambda forward, output, gradient: seen.append(forward), print)
    tokens = torch.tensor([[5, 6, 7]])

    with capture:
        model(torch.ones(1, 3), torch.tensor(2), tokens > 5, tokens).sum().backward()

    assert [[5, 6, 7]] == seen[0].input_ids.tolist()


def test_labels_that_were_shifted_already_are_taken_as_they_are():
    model = models.llama()
    batch = make_batch([ROWS[0]])
    shifted = torch.tensor([[9, -100, 5, 11, 6, -100]])

    with watch(model) as report:
        model(**batch, shift_labels=shifted).loss.backward()

    assert [True, False, True, True, True] == report.rows[0].scored.tolist()
    report.assert_token_mean()


def test_padding_is_left_out_of_the_rows():
    model = models.llama()

    with watch(model) as report:
        model(**make_batch(ROWS, padding_side="left")).loss.backward()

    assert [list(row) for row in ROWS] == [row.ids.tolist() for row in report.rows]


def test_gradient_on_padding_is_told_even_when_no_token_beside_it_has_any():
    model, batch, other = models.llama(), make_batch([ROWS[2]], pad_to=6), make_batch([ROWS[1]])
    batch["labels"] = torch.tensor([[-100, -100, -100, -100, 7, 8]])

    with watch(model) as report:
        model(**batch).loss.backward()
        model(**other).loss.backward()

    assert 0 < report.windows[0].padding < float("inf")
    assert any("reaches padding" in fault for fault in report.verdicts[0].faults)
    with pytest.raises(AssertionError, match="reaches padding"):
        report.assert_weights([[], [1 / 4] * 4])


@pytest.mark.parametrize(
    ("sizes", "share"),
    [
        ([(0.0, 2.0)], 0.0),
        ([(0.0, 0.0)], 0.0),
        ([(1.0, 2.0)], 1 / 2),
        ([(1.0, 2.0), (3.0, 4.0)], 3 / 4),
        ([(1.0, 0.0), (0.0, 4.0)], 1 / 4),
        ([(1.0, 0.0)], float("inf")),
    ],
)
def test_the_share_of_padding_is_taken_over_a_whole_window(sizes, share):
    assert share == padding_share(sizes)


def test_rows_that_share_their_first_token_are_told_apart():
    from instrument import xray_rows

    def step(model, rows):
        for row in rows:
            (model(**make_batch([row])).loss / 2).backward()

    report = xray_rows(step, [[5, 6, 7], [5, 8, 9, 10]])

    np.testing.assert_allclose(report.weights[0], [1 / 4] * 2, rtol=1e-5)
    np.testing.assert_allclose(report.weights[1], [1 / 6] * 3, rtol=1e-5)
    assert [0, 1] == [row.micro_batch for row in report.rows]


def test_a_row_that_begins_inside_another_is_found_where_it_ran():
    from instrument import xray_rows

    def step(model, rows):
        for row in rows:
            (model(**make_batch([row])).loss / 2).backward()

    report = xray_rows(step, [[6, 8, 10, 11], [5, 6, 7]])

    assert "mean of micro-batch means, M = 2" == report.verdicts[0].name
    assert [0, 1] == [row.micro_batch for row in report.rows]


def test_packed_rows_are_found_behind_one_another():
    def step(model, rows):
        ids = torch.tensor([[i for row in rows for i in row]])
        labels = torch.tensor([[i for row in rows for i in (-100, *row[1:])]])
        model(input_ids=ids, labels=labels).loss.backward()

    report = xray(step, [3, 5, 4])

    report.assert_token_mean()
    assert tracer_rows([3, 5, 4]) == [row.ids.tolist() for row in report.rows]
