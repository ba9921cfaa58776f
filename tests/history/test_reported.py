"""The questions of public reports, asked of what is installed: what it is known to do, and that they see a fault."""

import pytest
import transformers.models.mixtral.modeling_mixtral as mixtral

from instrument.history import column, reported, reported_text
from instrument.history.reported import reported_checks

DEVIATE = ("T5, 4 micro-batches", "BERT, classes of rows, 4 micro-batches", "Qwen2.5-VL, 4 micro-batches")
RIGHT = (
    "OPT, 4 micro-batches",
    "T5Gemma, 4 micro-batches",
    "head without a count",
    "head without a count, tail window",
    "JetMoe, targets",
    "Florence-2, targets",
    "GIT, targets",
    "router, padding",
    "assistant marks, cut reply",
    "assistant marks, one token at the start",
    "assistant marks, blank behind",
)
RANKS = ("two ranks, as it comes", "evaluation on two ranks")


def asked(name):
    """What the question of that name finds."""
    (check,) = [check for check in reported_checks() if check.name == name]
    return column.measured(check)


@pytest.mark.parametrize("name", RIGHT)
def test_the_installed_release_is_right(name):
    found = asked(name)

    assert found["status"] == "ok", found["measured"]


@pytest.mark.parametrize("name", DEVIATE)
def test_the_installed_release_deviates_as_it_is_known_to(name):
    found = asked(name)

    assert (found["status"], "micro-batch means, M = 4" in found["measured"]) == ("FAULT", True)


@pytest.mark.slow
@pytest.mark.spawn
@pytest.mark.parametrize("name", RANKS)
def test_two_ranks_of_the_installed_release_are_right(name):
    found = asked(name)

    assert found["status"] == "ok", found["measured"]


def test_every_question_is_asked_here():
    assert {check.name for check in reported_checks()} == {*RIGHT, *DEVIATE, *RANKS}


def test_a_router_that_counts_padding_is_found(monkeypatch):
    kept = mixtral.load_balancing_loss_func
    monkeypatch.setattr(mixtral, "load_balancing_loss_func", lambda gates, n, k, mask=None: kept(gates, n, k))

    assert reported.padded_router().status == "deviates"


def test_a_window_that_nobody_divides_is_found(monkeypatch):
    monkeypatch.setattr(reported, "tracer_rows", lambda lengths: [[3, 4], [5, 6, 7]])

    assert reported.uncounted(1, 2).status == "ok"
    monkeypatch.setattr("transformers.Trainer.training_step", undivided)
    assert reported.uncounted(1, 2).said == "targets weigh 2 times it"


def undivided(trainer, model, inputs, num_items_in_batch=None):
    """A micro-batch that is added up."""
    loss = model(**inputs).loss
    loss.backward()
    return loss.detach()


def test_marks_that_run_on_are_found():
    found = reported_text.marked([("assistant", "yes"), ("user", "why")], [1, 1])

    assert found.status == "deviates"
    assert found.said == "[1, 0] marked, [1, 1] are the assistant's"
