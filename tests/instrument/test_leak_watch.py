"""A watch never stops the training: what a batch cannot say is counted, what went wrong comes at the end."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from instrument import build_probe
from instrument.leak_watch import watch_leaks
from tests.instrument.leak_models import ReadsRowBefore, WithLoss, padded_batch


def good():
    return padded_batch()


def unlabelled():
    return {**padded_batch(), "labels": torch.full((4, 5), -100)}


def single():
    return padded_batch(rows=1)


def first_tokens_only():
    batch = padded_batch()
    return {**batch, "labels": torch.where(torch.arange(5) == 0, batch["labels"], -100)}


USELESS = (unlabelled, single, first_tokens_only)


def train(model, batches):
    """A loop by hand; the labels of a useless batch may give nan."""
    for batch in batches:
        model(**batch)[0].backward()


@pytest.fixture
def model():
    return WithLoss()


@given(made=st.lists(st.sampled_from([good, *USELESS]), min_size=1, max_size=6), batches=st.integers(1, 3))
def test_batches_that_say_nothing_are_counted_and_others_searched(made, batches):
    searched = 0
    useless = 0
    for make in made:
        # Behind the last one that is searched, nothing is looked at.
        if searched < batches:
            searched, useless = searched + (make is good), useless + (make is not good)
    watching = watch_leaks(WithLoss(), batches=batches)

    if not searched:
        with pytest.raises(ValueError, match=rf"none of the {useless} batches that WithLoss was trained on"):
            with watching:
                train(watching.model, [make() for make in made])
    else:
        with watching:
            train(watching.model, [make() for make in made])
    assert [bool(leaks) for leaks in watching.found] == [False] * searched
    assert watching.found.skipped.total() == useless


def test_the_report_says_what_was_found_and_what_had_nothing_to_say(model):
    with watch_leaks(model) as found:
        train(model, [unlabelled(), single(), unlabelled(), good()])

    clean, no_labels, one_sequence = str(found).splitlines()
    assert clean.startswith("no leak: 4 sequences")
    assert no_labels.startswith("2 of the batches: all labels are -100")
    assert one_sequence.startswith("1 of the batches: the batch holds 1 sequence(s) by its rows")


def test_reasons_are_in_the_error_when_no_batch_could_be_searched(model):
    with pytest.raises(
        ValueError, match=r"none of the 1 batches .* about leaks: 1 of the batches: all labels are -100"
    ):
        with watch_leaks(model):
            train(model, [unlabelled()])


def test_a_blind_model_is_asked_as_often_as_a_search_was_wanted():
    model = build_probe(41)
    batch = padded_batch()

    watching = watch_leaks(model, batches=2)
    with pytest.raises(ValueError, match=r"none of the 2 batches .* nothing in this model carries from token to token"):
        with watching:
            for _ in range(3):
                model(**batch).loss.backward()
    assert watching.found.skipped.total() == 2


def test_a_batch_that_cannot_be_measured_is_raised_at_the_end_and_not_in_the_loop(model):
    done = []

    with pytest.raises(ValueError, match=r"documents is torch.float32"):
        with watch_leaks(model, lambda batch: torch.zeros(4, 5), batches=2):
            for _ in range(2):
                train(model, [good()])
                done.append(True)
    assert done == [True, True]


def test_an_error_of_the_users_own_keeps_its_place_and_tells_of_ours(model):
    def documents(batch):
        raise KeyError("documents")

    with pytest.raises(RuntimeError, match="mine") as caught:
        with watch_leaks(model, documents):
            train(model, [good()])
            raise RuntimeError("mine")
    assert caught.value.__notes__ == ["weighbridge had stopped looking for leaks before this: 'documents'"]


def test_a_model_is_watched_once(model):
    with watch_leaks(model) as found:
        with pytest.raises(ValueError, match="WithLoss is watched for leaks already: enter watch_leaks once"):
            with watch_leaks(model):
                pass
        train(model, [good()])

    assert [leaks.passes for leaks in found] == [4]


def test_a_watch_is_entered_once(model):
    watching = watch_leaks(model)

    with watching:
        train(model, [good()])
        with pytest.raises(ValueError, match="watched for leaks already"):
            with watching:
                pass
    assert not model._forward_pre_hooks


def test_a_watched_part_of_a_watched_model_reads_the_same():
    class Inner(ReadsRowBefore):
        def forward(self, input_ids, labels):
            return super().forward(input_ids)

    class Wrapped(WithLoss):
        def __init__(self):
            super().__init__()
            self.inner = Inner()

        def forward(self, input_ids, labels):
            logits = self.inner(input_ids=input_ids, labels=labels)
            return (torch.nn.functional.cross_entropy(logits[:, :-1].transpose(1, 2), labels[:, 1:]),)

    model = Wrapped()
    with watch_leaks(model) as outer, watch_leaks(model.inner) as inner:
        train(model, [good()])

    assert outer[0].pairs
    assert outer[0] == inner[0]


def test_a_watch_that_saw_nothing_says_so(model):
    with pytest.raises(ValueError, match=r"WithLoss was never called with labels and gradients on"):
        with watch_leaks(model), torch.no_grad():
            model(**padded_batch())


def test_an_error_in_the_watched_block_is_not_hidden(model):
    with pytest.raises(KeyError, match="mine"):
        with watch_leaks(model):
            raise KeyError("mine")
