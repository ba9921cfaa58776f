"""Loops that once passed as a token mean, or broke without a word: each must be refused or found."""

import pytest
import torch
from transformers import OPTConfig, OPTForCausalLM

from instrument import make_batch, watch, xray, xray_rows
from tests.instrument import models

LENGTHS = [3, 4, 6, 12]
TARGETS = 21


def rolled(model, rows):
    """The last token is trained to predict the first: torch.roll in place of a shift."""
    for row in rows:
        ids = torch.tensor([row])
        logits = model(input_ids=ids).logits[0]
        (torch.nn.functional.cross_entropy(logits, ids.roll(-1, 1)[0], reduction="sum") / TARGETS).backward()


def framed(model, rows):
    """BOS and EOS are put around each row and trained, and the count is taken before."""
    for row in rows:
        ids = torch.tensor([[1, *row, 2]])
        model(input_ids=ids, labels=ids, num_items_in_batch=TARGETS).loss.backward()


def foreign(model, rows):
    """Other rows are trained beside the given ones."""
    model(**make_batch(rows)).loss.backward()
    other = torch.tensor([[1, 2, 1, 2, 1]])
    (100 * model(input_ids=other, labels=other).loss).backward()


def padding_under_ones(model, rows):
    """Padding is scored, and a mask of ones hides that it is padding."""
    batch = make_batch(rows)
    batch["labels"] = batch["input_ids"].clone()
    batch["attention_mask"][:] = 1
    model(**batch, num_items_in_batch=TARGETS).loss.backward()


def joined(model, rows):
    """Rows are joined to one, and the first token of each is trained from the last one of the row before."""
    ids = torch.tensor([[token for row in rows for token in row]])
    model(input_ids=ids, labels=ids.clone(), num_items_in_batch=TARGETS).loss.backward()


@pytest.mark.parametrize("step", [rolled, framed, foreign, padding_under_ones])
def test_gradient_at_other_inputs_than_the_rows_own_is_found(step):
    report = xray(step, LENGTHS)

    assert any("precede no target" in fault for fault in report.verdicts[0].faults)
    with pytest.raises(AssertionError, match="precede no target"):
        report.assert_token_mean()


def test_a_boundary_that_is_trained_is_found():
    report = xray(joined, LENGTHS)

    assert not report.ok
    with pytest.raises(AssertionError, match="precede no target"):
        report.assert_token_mean()


def test_a_gradient_of_zeros_is_no_pass():
    def step(model, rows):
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        model(**make_batch(rows)).loss.backward()
        optimizer.zero_grad(set_to_none=False)
        optimizer.step()

    with pytest.raises(AssertionError, match="0 of 19 trainable parameters"):
        xray(step, LENGTHS).assert_token_mean()


def test_another_direction_in_the_gradient_fails_the_assertion():
    def step(model, rows):
        noise = torch.Generator().manual_seed(0)

        def add(module, args, output):
            output.register_hook(lambda g: g + torch.randn(g.shape, generator=noise, dtype=g.dtype) * g.norm())

        hook = model.get_input_embeddings().register_forward_hook(add)
        model(**make_batch(rows)).loss.backward()
        hook.remove()

    with pytest.raises(AssertionError):
        xray(step, LENGTHS).assert_token_mean(tol=1e3)


def by_hand(model, batch):
    for _ in range(2):
        model(**batch).loss.backward()
        with torch.no_grad():
            for parameter in model.parameters():
                if parameter.grad is not None:
                    parameter.sub_(0.1 * parameter.grad)
                    parameter.grad = None


def in_backward(model, batch):
    for parameter in model.parameters():
        if parameter.requires_grad:
            optimizer = torch.optim.SGD([parameter], lr=0.1)
            parameter.register_post_accumulate_grad_hook(lambda _, optimizer=optimizer: optimizer.step())
    model(**batch).loss.backward()


@pytest.mark.parametrize(
    ("train", "message"),
    [
        (by_hand, "parameters changed between two forwards"),
        (in_backward, "stepped inside backward"),
    ],
)
def test_an_update_that_hides_where_a_window_ends_is_refused(train, message):
    with pytest.raises(ValueError, match=message):
        xray(lambda model, rows: train(model, make_batch(rows)), LENGTHS)
    model = models.llama(0)
    ids = torch.arange(3, 11)[None]
    with pytest.raises(ValueError, match=message), watch(model):
        train(model, {"input_ids": ids, "labels": ids})


def test_two_watches_on_one_replayed_head_do_not_see_each_other():
    model = models.soft_capped()
    ids = torch.arange(3, 15).reshape(2, 6)

    with watch(model) as outer, watch(model) as inner:
        model(input_ids=ids, labels=ids).loss.backward()

    assert outer.ok and inner.ok
    assert outer.windows[0].targets() == inner.windows[0].targets() == 10


def test_a_head_that_passes_its_base_model_by_is_read():
    model = OPTForCausalLM(
        OPTConfig(
            vocab_size=64, hidden_size=32, ffn_dim=48, num_hidden_layers=2, num_attention_heads=4,
            word_embed_proj_dim=32, max_position_embeddings=32, pad_token_id=0, bos_token_id=1, eos_token_id=2,
        )
    )  # fmt: skip
    ids = torch.arange(3, 15).reshape(2, 6)

    with watch(model) as report:
        model(input_ids=ids, labels=ids).loss.backward()

    report.assert_token_mean()


@pytest.mark.parametrize("precision", ["autocast", "weights"])
def test_bfloat16_cannot_be_told_and_says_so(precision):
    model = models.llama(0).to(torch.bfloat16 if precision == "weights" else torch.float32)
    ids = torch.arange(3, 15).reshape(2, 6)

    with watch(model) as report, torch.autocast("cpu", torch.bfloat16, enabled=precision == "autocast"):
        model(input_ids=ids, labels=ids).loss.backward()

    assert not report.ok
    assert "rounding in bfloat16 explains a tenth" in report.verdicts[0].faults[0]


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([[3, 4.5]], "whole numbers"),
        (["34"], "whole numbers"),
        ([[3, -5, 4]], "id -5 is not in"),
        ([[3, 10**7]], "id 10000000 is not in"),
    ],
)
def test_rows_that_are_no_ids_are_refused(rows, message):
    with pytest.raises(ValueError, match=message):
        xray_rows(lambda model, rows: None, rows)


def test_labels_in_place_of_marks_are_refused():
    with pytest.raises(ValueError, match="labelled holds -100"):
        xray(lambda model, rows: None, [3], labelled=[[-100, 5]])


@pytest.mark.parametrize("model", [None, 3, torch.nn.Linear])
def test_what_is_no_model_is_refused(model):
    with pytest.raises(ValueError, match=r"it watches a torch\.nn\.Module"):
        watch(model)


@pytest.mark.parametrize("by", [1, 2])
def test_labels_that_were_shifted_before_the_model_shifts_are_named(by):
    model = models.llama()
    ids = torch.randint(3, 60, (2, 8), generator=torch.Generator().manual_seed(by))
    labels = torch.roll(ids, -by, 1)
    labels[:, -by:] = -100

    with watch(model) as report:
        model(input_ids=ids, labels=labels).loss.backward()

    assert not report.ok
    scored = 2 * (8 - 1 - by)
    assert f"{scored} of {scored} targets are scored on another token than the one that follows" in str(report)


def test_the_next_token_under_another_name_is_no_other_token():
    model = models.llama()
    ids = torch.randint(3, 60, (2, 8), generator=torch.Generator().manual_seed(0))
    labels = torch.where(ids % 3 == 0, -100, ids)
    shifted = torch.nn.functional.pad(labels, (0, 1), value=-100)[:, 1:].contiguous()

    with watch(model) as report:
        model(input_ids=ids, labels=labels, shift_labels=shifted).loss.backward()

    assert report.ok, str(report)


class Ignoring(torch.nn.Module):
    """A model with a loss of its own, which leaves a negative target out."""

    def __init__(self, ignored):
        super().__init__()
        self.inner, self.ignored = models.llama(), ignored

    def forward(self, ids, targets):
        logits = self.inner(input_ids=ids).logits
        return torch.nn.functional.cross_entropy(logits.flatten(0, 1), targets.flatten(), ignore_index=self.ignored)


@pytest.mark.parametrize("ignored", [-1, -100])
def test_a_negative_target_is_no_target_whatever_its_number(ignored):
    model = Ignoring(ignored)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    ids = torch.tensor([[5, 9, 7, 5, 11], [8, 5, 4, 9, 7]])
    targets = ids.roll(-1, 1)
    targets[:, -1], targets[1, 2:] = ignored, ignored
    with watch(model, read_point="inner.model", head="inner.lm_head") as report:
        model(ids, targets=targets).backward()
        optimizer.step()

    assert report.ok
    assert 6 == report.windows[0].targets()
