"""What cannot be measured is refused with what came and what to do."""

import pytest
import torch
from torch import nn

from instrument import build_probe
from instrument.leak import find_leaks, leak_matrix
from instrument.leak_probe import build_leak_probe
from instrument.leak_sequences import by_token, find_sequences
from tests.instrument.leak_models import Tagger, padded_batch


@pytest.fixture
def model():
    return build_leak_probe(41)


def changed(**values):
    return {**padded_batch(), **values}


@pytest.mark.parametrize(
    ("batch", "message"),
    [
        ([1, 2], r"batch is a list: give the model's arguments by name"),
        ({"input_ids": padded_batch()["input_ids"]}, r"holds \['input_ids'\] and no labels \[b, t\]"),
        (changed(labels=torch.ones(4, dtype=torch.long)), r"no labels \[b, t\]"),
        ({"labels": padded_batch()["labels"]}, r"labels is \[4, 5\], the tokens are nothing"),
        (changed(labels=torch.ones(4, 6, dtype=torch.long)), r"labels is \[4, 6\], the tokens are shape \[4, 5\]"),
        (changed(labels=torch.full((4, 5), -100)), r"all labels are -100"),
        (changed(labels=torch.tensor([[1, -100, -100, -100, -100]] * 4)), r"no sequence has a target behind"),
        (padded_batch(rows=1), r"holds 1 sequence\(s\) by its rows \(shape \[1, 5\]\), and a leak needs two"),
        (
            changed(position_ids=torch.zeros(3, 4, 5, dtype=torch.long)),
            r"position_ids is torch.int64 of shape \[3, 4, 5\]",
        ),
        (
            changed(position_ids=torch.arange(5).expand(3, 5)),
            r"position_ids is torch.int64 of shape \[3, 5\], but the tokens are \[4, 5\]: give a whole number for each",
        ),
        (
            {**padded_batch(rows=1), "position_ids": torch.tensor([0, 1, 2, 0, 1])},
            r"position_ids is torch.int64 of shape \[5\], but the tokens are \[1, 5\]: give a whole number for each",
        ),
        (
            {name: value.numpy() for name, value in padded_batch().items()},
            r"input_ids is a ndarray: give a tensor, as torch.as_tensor\(input_ids\) makes one",
        ),
        (changed(labels=padded_batch()["labels"].tolist()), r"labels is a list: give a tensor"),
        (changed(position_ids=[[0, 1, 2, 0, 1]] * 4), r"position_ids is a list: give a tensor"),
        (changed(attention_mask=torch.ones(4, 5).numpy()), r"attention_mask is a ndarray: give a tensor"),
        (
            changed(cu_seq_lens_q=torch.tensor([0, 3, 5])),
            r"cu_seq_lens_q=\[0, 3, 5\] does not cut a batch of shape \[4, 5\]",
        ),
        (changed(seq_idx=torch.zeros(4, 4, dtype=torch.long)), r"seq_idx is torch.int64 of shape \[4, 4\]"),
    ],
)
def test_a_batch_without_what_is_needed_is_refused(model, batch, message):
    with pytest.raises(ValueError, match=message):
        find_leaks(model, batch)


@pytest.mark.parametrize(
    ("documents", "message"),
    [
        ([slice(0, 3), slice(3, 5)], r"list of slices, but the batch has 4 rows"),
        (torch.zeros(5), r"documents is torch.float32 of shape \[5\]"),
        ("rows", r"documents is a str that is no tensor of ids"),
        ([[0] * 5] * 3 + [[-1] * 4], r"documents is a list that is no tensor of ids"),
    ],
)
def test_documents_that_do_not_fit_are_refused(model, documents, message):
    with pytest.raises(ValueError, match=message):
        find_leaks(model, padded_batch(), documents)


@pytest.mark.parametrize("documents", [[slice(0, 3), slice(2, 5)], [slice(0, 0), slice(0, 5)]])
def test_slices_that_overlap_or_are_empty_are_refused(model, documents):
    with pytest.raises(ValueError, match=r"is empty or shares a token with one before it"):
        leak_matrix(model, padded_batch(rows=1), documents)


@pytest.mark.parametrize(
    ("where", "message"),
    [
        (slice(0, 4, 2), r"documents\[1\]=slice\(0, 4, 2\) has a step, but a sequence is a run of tokens"),
        (slice(4, 2, -1), r"has a step"),
        (slice(3, 6), r"documents\[1\]=slice\(3, 6, None\) reaches past the row, which has 5 tokens"),
        (slice(-6, -3), r"reaches past the row"),
    ],
)
def test_slices_that_are_no_run_of_the_row_are_refused(model, where, message):
    with pytest.raises(ValueError, match=message):
        find_leaks(model, padded_batch(rows=1), [slice(4, 5), where])


@pytest.mark.parametrize("ends", [[0, 2], [1, 5], [0, 3, 3, 5], [0, 4, 2, 5]])
def test_ends_that_do_not_cut_the_row_are_refused(ends):
    with pytest.raises(ValueError, match=r"must go up from 0 to its tokens"):
        find_sequences({"cu_seq_lens_q": ends}, (1, 5))


class Returns(Tagger):
    """Gives what it is told to."""

    def __init__(self, make):
        super().__init__()
        self.make = make

    def forward(self, input_ids):
        return self.make(super().forward(input_ids))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda logits: {"scores": logits}, r"Returns returned dict with neither a loss nor logits \[b, t, v\]"),
        (lambda logits: logits[:, 0], r"Returns returned Tensor with neither a loss nor logits"),
        (lambda logits: {"loss": logits[0, 0]}, r"the loss is Tensor of shape \[41\], not one number"),
        (lambda logits: logits * float("nan"), r"the loss of a part of the labels is nan"),
        (lambda logits: (logits - logits.detach()).sqrt() + logits, r"gradient at row \d, token \d is not finite"),
    ],
)
def test_a_model_that_gives_nothing_to_read_is_refused(make, message):
    with pytest.raises(ValueError, match=message):
        find_leaks(Returns(make), padded_batch())


def test_a_model_without_an_embedding_of_the_tokens_is_refused():
    class OneHot(nn.Module):
        def forward(self, input_ids):
            return nn.functional.one_hot(input_ids, 41).double().cumsum(1)

    with pytest.raises(ValueError, match=r"OneHot looked up no embedding of the batch's input_ids"):
        find_leaks(OneHot(), padded_batch())


def test_what_is_no_module_is_refused():
    with pytest.raises(ValueError, match=r"model is 'gpt2': give a torch.nn.Module"):
        find_leaks("gpt2", padded_batch())


def test_a_compiled_model_is_refused(model):
    model.compile(backend="eager")

    with pytest.raises(ValueError, match="compiled"):
        find_leaks(model, padded_batch())


def test_a_model_in_which_nothing_could_leak_is_refused():
    with pytest.raises(ValueError, match=r"nothing in this model carries from token to token"):
        find_leaks(build_probe(41), padded_batch())


@pytest.mark.parametrize("make", [lambda: build_probe(41), Tagger])
def test_rows_too_short_to_tell_are_refused(make):
    with pytest.raises(ValueError, match=r"no sequence has a target behind its second token, so whether"):
        find_leaks(make(), padded_batch(length=2))


class Overlooks(Tagger):
    """What it gives for some rows depends on none of their tokens."""

    def __init__(self, rows):
        super().__init__()
        self.rows = rows

    def forward(self, input_ids):
        logits = super().forward(input_ids)
        logits[self.rows] = 0
        return logits


@pytest.mark.parametrize("length", [2, 3, 5])
@pytest.mark.parametrize("rows", [[0], [3], [1, 2], [0, 1, 2, 3]])
def test_a_sequence_that_nothing_was_read_of_is_refused(length, rows):
    named = "; ".join(f"row {b}, tokens 0-{length - 1}" for b in rows[:3])

    with pytest.raises(ValueError, match=rf"the loss of {named}( and 1 more)? depends on none of its own tokens"):
        find_leaks(Overlooks(rows), padded_batch(length=length))


def test_a_sequence_without_labels_need_not_be_read():
    batch = padded_batch()
    batch["labels"] = batch["labels"].clone()
    batch["labels"][2] = -100

    assert not find_leaks(Overlooks([2]), batch)


def test_tokens_of_no_row_belong_to_no_document():
    documents = by_token([[5, 6], [7]])({"input_ids": torch.tensor([[5, 6, 7, 0]])})

    assert documents.tolist() == [[0, 0, 1, -1]]
