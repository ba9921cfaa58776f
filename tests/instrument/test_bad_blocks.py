"""What goes wrong in a watched block is told when it ends, and the run is not disturbed."""

import pytest
import torch

from instrument import make_batch, watch
from instrument.loops.trainer import run_trainer
from tests.instrument import models
from tests.instrument.loops import ROWS
from tests.instrument.messages import says


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

    assert "labels is [3, 5] but input_ids is [3, 6]" in caught.value.__notes__[0]
