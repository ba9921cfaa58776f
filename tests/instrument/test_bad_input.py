"""Wrong input gives one error that says what came, the rule and what to do; never a table of zeros, never a pass."""

import re

import numpy as np
import pytest
import torch
from torch import nn
from transformers import LlamaForSequenceClassification

from instrument import make_batch, tracer_rows, watch, xray, xray_rows
from instrument.loops.trainer import run_trainer
from tests.instrument import models

ROWS = ((5, 9, 7, 5, 11, 6), (8, 5, 4, 9, 7))


def train(model, rows):
    """The plainest step."""
    model(**make_batch(rows)).loss.backward()


def says(*parts):
    """A pattern for a message with these parts in this order."""
    return "(?s)" + ".*".join(map(re.escape, parts))


# What is asked for.


@pytest.mark.parametrize("lengths", [[], (), np.array([], dtype=int)])
def test_no_lengths(lengths):
    with pytest.raises(ValueError, match=says("lengths=[] holds no row", "give the number of tokens of each row")):
        xray(train, lengths)


def test_lengths_may_be_an_array():
    xray(train, np.array([3, 4])).assert_token_mean()


@pytest.mark.parametrize("length", [1, 0, -3])
def test_a_row_without_a_target(length):
    with pytest.raises(
        ValueError, match=says(f"lengths[1]={length}", "at least 2 tokens", "drop the row or lengthen it")
    ):
        xray(train, [4, length, 1])


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([], says("rows=[] holds no row", "give the token ids")),
        ([[5, 6], [7]], says("rows[1] holds 1 tokens", "at least 2")),
        ([[5, 6], []], says("rows[1] holds 0 tokens", "at least 2")),
        ([[5, 0, 7]], says("id 0 is an input", "padding", "use others")),
        ([[5, 6, 7], [8, 5, 6]], says("pair of input and target (5, 6) occurs 2 times", "give each row its own ids")),
        ([[5, 6], [5, 6]], says("pair of input and target (5, 6) occurs 2 times")),
    ],
)
def test_rows_that_cannot_be_told_apart(rows, message):
    with pytest.raises(ValueError, match=message):
        xray_rows(train, rows)


def test_marks_that_do_not_fit_the_rows():
    with pytest.raises(
        ValueError, match=says("labelled has rows of [3] marks for rows of [3] tokens", "one mark per target")
    ):
        xray(train, [3], labelled=[[True, True, True]])


def test_more_targets_of_one_input_than_can_be_told_apart():
    rows = [[3 + n, 1, 70 + n] for n in range(64)]

    with pytest.raises(
        ValueError, match=says("input 1: 64 targets share one input", "hidden size of 64", "at most 63")
    ):
        xray_rows(train, rows)


@pytest.mark.parametrize("side", ["middle", "Left", None])
def test_an_unknown_padding_side(side):
    with pytest.raises(ValueError, match=says(f"padding_side={side!r}", "must be 'left' or 'right'")):
        make_batch([[5, 6]], padding_side=side)


def test_a_batch_of_nothing():
    with pytest.raises(ValueError, match=says("rows=[] holds no row")):
        make_batch([])


def test_labels_that_do_not_fit_the_rows_of_a_batch():
    with pytest.raises(ValueError, match=says("labels of lengths [2] for rows of lengths [3]", "one label per token")):
        make_batch([[5, 6, 7]], [[6, 7]])


# What a step does.


def nothing(model, rows):
    pass


def without_gradients(model, rows):
    with torch.no_grad():
        model(**make_batch(rows))


def no_backward(model, rows):
    model(**make_batch(rows))


def only_parameters(model, rows):
    torch.autograd.grad(model(**make_batch(rows)).loss, model.lm_head.weight)


def rows_of_its_own(model, rows):
    ids = torch.tensor([[3, 3, 4]])
    model(input_ids=ids, labels=ids).loss.backward()


def all_labels_masked(model, rows):
    batch = make_batch(rows, [[-100] * len(row) for row in rows])
    model(**batch, num_items_in_batch=1).loss.backward()


def infinite(model, rows):
    (model(**make_batch(rows)).loss * float("inf")).backward()


def no_targets_to_average(model, rows):
    model(**make_batch(rows, [[-100] * len(row) for row in rows])).loss.backward()


def freezes_the_embedding(model, rows):
    model.get_input_embeddings().requires_grad_(False)
    train(model, rows)


def unfreezes_attention(model, rows):
    for parameter in model.parameters():
        parameter.requires_grad_(True)
    train(model, rows)
    torch.optim.SGD(model.parameters(), lr=1.0).step()
    train(model, rows)


STEPS = [
    (nothing, RuntimeError, says("the model was never run with gradients on", "call the model that was handed over")),
    (without_gradients, RuntimeError, says("never run with gradients on", "outside torch.no_grad()")),
    (no_backward, RuntimeError, says("ran 1 times but no gradient came back", "call loss.backward()")),
    (only_parameters, RuntimeError, says("no gradient came back", "torch.autograd.grad on parameters alone")),
    (
        rows_of_its_own,
        RuntimeError,
        says("window 0", "none of the rows that the step was given", "train on these rows"),
    ),
    (all_labels_masked, ValueError, says("no target of window 0 is scored", "give labels other than -100")),
    (infinite, ValueError, says("holds nan or inf in forward 0", "look for an empty micro-batch")),
    (no_targets_to_average, ValueError, says("no target of window 0 is scored")),
    (
        freezes_the_embedding,
        RuntimeError,
        says("none was accumulated in their parameter", "must train as it was handed over"),
    ),
    (unfreezes_attention, RuntimeError, says("attention output is no longer zero", "leave requires_grad")),
]


@pytest.mark.parametrize(("step", "kind", "message"), STEPS, ids=[step.__name__ for step, _, _ in STEPS])
def test_a_step_that_gives_nothing_to_weigh(step, kind, message):
    with pytest.raises(kind, match=message):
        xray(step, [4, 3])


def test_a_step_that_leaves_a_row_out_is_no_pass():
    report = xray(lambda model, rows: train(model, rows[:2]), [4, 3, 5, 6])

    assert not report.ok
    assert "2 of the rows that were given never ran: 2, 3" in report.verdicts[-1].faults
    with pytest.raises(AssertionError, match="2 of the rows that were given never ran: 2, 3"):
        report.assert_token_mean()


def test_a_step_that_cuts_a_row_short_is_no_pass():
    report = xray(lambda model, rows: train(model, [row[:3] for row in rows]), [3, 5])

    assert "2 of 6 targets that should be scored carried no label" in report.verdicts[0].faults
    with pytest.raises(AssertionError):
        report.assert_token_mean()


def test_a_step_whose_own_call_fails_raises_its_own_error():
    with pytest.raises(TypeError, match="must be Tensor, not list"):
        xray(lambda model, rows: model(input_ids=rows), [4, 4])


# What a model is.


def test_a_fully_frozen_model():
    model = models.llama().requires_grad_(False)

    with pytest.raises(
        ValueError, match=says("none of the 21 parameters of LlamaForCausalLM", "unfreeze what should train")
    ):
        watch(model)


def wrapped(model):
    return torch.compile(model, backend="eager")


def in_place(model):
    model.compile(backend="eager")
    return model


def a_module_of_it(model):
    next(iter(model.children())).compile(backend="eager")
    return model


@pytest.mark.parametrize("compiled", [wrapped, in_place, a_module_of_it])
@pytest.mark.parametrize("kind", ["llama", "LoRA"])
def test_a_compiled_model(compiled, kind):
    model = compiled(models.MODELS[kind]())

    with pytest.raises(ValueError, match=says("is compiled already", "never fire", "start watching before compiling")):
        watch(model)


def test_a_compiled_model_of_ones_own():
    with pytest.raises(ValueError, match=says("is compiled already")):
        watch(wrapped(models.written()), read_point="norm", head="out")


@pytest.mark.parametrize(
    ("arguments", "kind", "message"),
    [
        ({}, ValueError, says("Written is no causal model", "pass read_point=", "head=")),
        ({"read_point": "norm"}, ValueError, says("read_point= was given without head=", "go together")),
        ({"head": "out"}, ValueError, says("head= was given without read_point=", "go together")),
        (
            {"read_point": "norn", "head": "out"},
            LookupError,
            says("Written has no module 'norn'; it has embed, mix, norm, out"),
        ),
        ({"read_point": "norm", "head": "lm_head"}, LookupError, says("Written has no module 'lm_head'; it has embed")),
    ],
)
def test_a_written_model_that_cannot_be_found_into(arguments, kind, message):
    with pytest.raises(kind, match=message):
        watch(models.written(), **arguments)


class WithHeadOnly(models.Written):
    """Says what its head is, but has no base model."""

    def get_output_embeddings(self):
        return self.out


def classifier():
    """Has a base model, but no head over a vocabulary."""
    return LlamaForSequenceClassification(models.llama().config)


@pytest.mark.parametrize("make", [lambda: models.llama().model, WithHeadOnly, classifier])
def test_a_model_without_a_base_or_without_a_head(make):
    model = models.seeded(make)

    with pytest.raises(ValueError, match=says(f"{type(model).__name__} is no causal model of transformers")):
        watch(model)


# What happens in a watched block: the error comes when it ends, and the run is not disturbed.


def losses_of(model, batch, steps=3, factor=1.0):
    """Losses of a short run."""
    optimizer, losses = torch.optim.SGD(model.parameters(), lr=0.1), []
    for _ in range(steps):
        loss = factor * model(**batch).loss
        loss.backward()
        losses.append(float(loss.detach()))
        optimizer.step()
        optimizer.zero_grad()
    return losses


class WithList(models.Written):
    """Takes lists, and labels of any shape, and makes its loss itself."""

    def forward(self, input_ids=None, labels=None, inputs_embeds=None, attention_mask=None):
        embedded = self.embed(torch.as_tensor(input_ids)) if inputs_embeds is None else inputs_embeds
        logits = self.out(self.norm(self.mix(embedded)[0]))
        return type("Output", (), {"loss": logits.square().mean(), "logits": logits})


LISTS = [
    ({"input_ids": [[5, 6, 7]]}, says("input_ids is a list", "pass a tensor of shape [batch, tokens]")),
    ({"input_ids": torch.tensor([[5, 6, 7]]), "labels": [[5, 6, 7]]}, says("labels is a list", "pass a tensor")),
    (
        {"input_ids": torch.tensor([[5, 6, 7]]), "labels": torch.tensor([[5, 6]])},
        says("labels is [1, 2] but input_ids is [1, 3]", "one label per token"),
    ),
    (
        {"inputs_embeds": torch.ones(1, 3, 16), "attention_mask": torch.ones(1, 3, dtype=torch.long)},
        says(
            "the model was called with ['attention_mask'",
            "'inputs_embeds'",
            "none of it is a [batch, tokens] tensor of ids",
        ),
    ),
    (
        {"inputs_embeds": torch.ones(1, 3, 16), "labels": torch.tensor([[5, 6, 7]])},
        says("the model was called with", "'inputs_embeds', 'labels']", "pass input_ids"),
    ),
    (
        {"input_ids": torch.tensor([[5, 6, 7]]), "labels": torch.tensor([5, 6, 7])},
        says("labels is [3] but input_ids is [1, 3]"),
    ),
]


@pytest.mark.parametrize(("batch", "message"), LISTS)
def test_what_a_model_is_called_with(batch, message):
    alone = losses_of(models.seeded(WithList), batch)
    model = models.seeded(WithList)

    with pytest.raises(ValueError, match=message), watch(model, read_point="norm", head="out"):
        watched = losses_of(model, batch)

    assert alone == watched


@pytest.mark.parametrize(
    ("read_point", "message"),
    [("mix", says("returned a tensor of shape [3, 16]", "hidden states of shape [batch, tokens, size]"))],
)
def test_a_read_point_without_hidden_states(read_point, message):
    class Flat(models.Written):
        def forward(self, tokens):
            return self.out(self.norm(self.mix(self.embed(tokens)[0])[0]))

    model = models.seeded(Flat)

    with pytest.raises(ValueError, match=message), watch(model, read_point=read_point, head="out"):
        model(torch.tensor([[5, 6, 7]])).sum().backward()


def test_a_read_point_that_merges_tokens():
    class Halved(models.Written):
        def forward(self, tokens):
            return self.out(self.norm(self.embed(tokens)[:, ::2]))

    model = models.seeded(Halved)

    with (
        pytest.raises(ValueError, match=says("input_ids is [1, 4] but", "[1, 2, 16]", "one position per token")),
        watch(model, read_point="norm", head="out"),
    ):
        model(torch.tensor([[5, 6, 7, 8]])).sum().backward()


@pytest.mark.parametrize("head", [lambda hidden: "logits", lambda hidden: hidden.sum()])
def test_a_head_without_logits(head):
    model, tokens = models.written(), torch.tensor([[5, 6, 7]])

    with (
        pytest.raises(
            ValueError, match=says("head= returned", "must return logits of shape [batch, tokens, vocabulary]")
        ),
        watch(model, read_point="norm", head=head),
    ):
        model(tokens).sum().backward()


@pytest.mark.parametrize("factor", [float("nan"), float("inf")])
def test_a_gradient_that_is_not_finite_is_told_at_the_end(factor):
    batch = make_batch(ROWS)
    alone = losses_of(models.llama(), batch, factor=factor)
    model = models.llama()

    with pytest.raises(ValueError, match=says("holds nan or inf in forward 0", "look for")), watch(model):
        watched = losses_of(model, batch, factor=factor)

    assert str(alone) == str(watched)


def test_a_watched_window_without_targets():
    model, batch = models.llama(), make_batch(ROWS, [[-100] * len(row) for row in ROWS])

    with (
        pytest.raises(ValueError, match=says("no target of window 0 is scored", "give labels other than -100")),
        watch(model),
    ):
        model(**batch, num_items_in_batch=1).loss.backward()


def test_windows_before_a_bad_one_are_kept():
    model, batch = models.llama(), make_batch(ROWS)

    with pytest.raises(ValueError, match="holds nan or inf in forward 2"), watch(model) as report:
        losses_of(model, batch, steps=2)
        losses_of(model, batch, factor=float("nan"))

    assert 2 == len(report.windows)
    report.assert_token_mean()


def test_a_trainer_that_trains_another_model():
    model, other = models.llama(), models.llama()

    with pytest.raises(RuntimeError, match=says("the model was never run with gradients on")), watch(model):
        run_trainer(other, ROWS, micro_batch=2)


def test_labels_of_another_shape_in_the_users_own_loss():
    model, batch = models.llama(), make_batch(ROWS)
    batch["labels"] = batch["labels"][:, :-1]

    with pytest.raises(ValueError, match="batch_size") as caught, watch(model):
        model(**batch)

    assert "labels is [2, 5] but input_ids is [2, 6]" in caught.value.__notes__[0]


# What a report is asked.


def test_a_report_before_its_first_window():
    model = models.llama()

    with watch(model) as report:
        for ask in (
            report.assert_token_mean,
            report.assert_pure_rescaling,
            report.table,
            report.to_json,
            lambda: report.ok,
        ):
            with pytest.raises(RuntimeError, match=says("no window was measured yet", "after the watched block")):
                ask()
        model(**make_batch(ROWS)).loss.backward()

    report.assert_token_mean()


@pytest.mark.parametrize(
    ("expected", "message"),
    [
        ([[1 / 6] * 3], says("expected holds 1 rows but 2 were measured", "give one per row")),
        (
            [[1 / 6] * 3, [1 / 6] * 2],
            says("expected[1] holds 2 weights but the row has 3 targets", "one weight for each"),
        ),
        ([], says("expected holds 0 rows")),
    ],
)
def test_expected_weights_of_another_shape(expected, message):
    report = xray(train, [4, 4])

    for ask in (report.assert_weights, report.deviation_from):
        with pytest.raises(ValueError, match=message):
            ask(expected)


def test_a_wrong_row_of_a_later_window_is_named_by_its_place_in_the_report():
    def step(model, rows):
        for row in rows:
            train(model, [row])
            torch.optim.SGD(model.parameters(), lr=0.0).step()
            model.zero_grad()

    report = xray(step, [4, 4])

    with pytest.raises(ValueError, match=re.escape("expected[1] holds 1 weights")):
        report.assert_weights([[1 / 3] * 3, [1 / 3]])


def certain(dtype):
    """A model that leaves no doubt about the next token."""
    model = models.llama().to(dtype)
    model.lm_head.weight.data.mul_(1e6)
    return model


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("factor", [1, 3])
def test_a_model_that_is_certain_cannot_be_read_and_is_no_pass(dtype, factor):
    model, ids = certain(dtype), torch.tensor([ROWS[0]])
    with torch.no_grad():
        labels = model(input_ids=ids).logits.argmax(-1)

    with watch(model) as report:
        (factor * model(input_ids=ids, shift_labels=labels, labels=labels).loss).backward()

    assert not report.ok
    assert report.verdicts[0].name is None
    assert "none of 6 targets can be read" in report.verdicts[0].faults[0]
    for ask in (report.assert_token_mean, report.assert_pure_rescaling):
        with pytest.raises(ValueError, match=says("6 of 6 targets cannot be read", "watch an earlier state")):
            ask()


def test_tracers_of_one_run_do_not_repeat():
    ids = [i for row in tracer_rows([5, 9, 3]) for i in row]

    assert len(ids) == len(set(ids))
    assert min(ids) > 2


def test_nothing_can_be_watched_in_a_plain_layer():
    with pytest.raises(ValueError, match=says("Linear is no causal model")):
        watch(nn.Linear(2, 2))
