"""What the checks of the atlas say about a right model, and about one that a fault was planted in."""

import pytest
import torch

from faults import CATALOGUE, planted
from instrument.atlas.build import Subject
from instrument.atlas.cell import DEVIATES, NO_READING, NOT_APPLICABLE, OK
from instrument.atlas.checkpointing import gradients, same_gradient
from instrument.atlas.checks import all_checks
from instrument.atlas.weights import accumulated, explained


def ask(check, name):
    """What one check says about one architecture."""
    (chosen,) = [c for c in all_checks() if c.name == check]
    return chosen.run(Subject(name))


def test_llama_is_right_but_for_a_cache_and_a_mask_of_ones():
    subject = Subject("llama")

    found = {check.name: check.run(subject).status for check in all_checks()}

    assert ["packed, default call", "packed, mask of ones"] == [n for n, status in found.items() if status != OK]


FAULTS = (
    ("packed, no cache", "packing_not_detected", "6 of 12 ordered pairs"),
    ("packed, eager", "packing_not_detected", "6 of 12 ordered pairs"),
    ("packed, two rows", "packing_needs_one_row", "2 of 12 ordered pairs"),
    ("padded left", "attention_drops_mask", "depends on padding"),
    ("causality", "attends_to_future", "depends on later tokens"),
    ("targets", "labels_shifted_twice", "10 positions are trained on the token after the next; 3 positions"),
    ("targets", "labels_not_shifted", "their own token"),
    ("accumulation, M = 4", "mean_of_micro_batch_means", "mean of micro-batch means, M = 4"),
    ("accumulation, M = 1", "counted_before_shift", "token mean times 0.857143"),
)


@pytest.mark.parametrize(("check", "fault", "said"), FAULTS)
def test_a_planted_fault_shows_in_its_check(check, fault, said):
    with planted(CATALOGUE[fault]):
        cell = ask(check, "llama")

    assert DEVIATES == cell.status
    assert said in cell.said
    assert cell.figure > 0


def test_one_micro_batch_hides_the_mean_of_means():
    with planted(CATALOGUE["mean_of_micro_batch_means"]):
        cell = ask("accumulation, M = 1", "llama")

    assert OK == cell.status


def test_a_decoder_that_trains_its_own_token_is_told_and_not_held_for_broken_causality():
    subject = Subject("bart")

    found = {c.name: c.run(subject) for c in all_checks() if c.name in ("targets", "causality", "head")}

    assert "18 positions are trained on their own token" == found["targets"].said
    assert [OK, NOT_APPLICABLE] == [found["causality"].status, found["head"].status]


def test_weights_four_times_too_large_are_absolute():
    cell = accumulated(Subject("bart").fresh(), micro_batches=4)

    assert "4 times too large" in cell.said
    assert cell.figure > 3


def test_an_attention_that_a_model_lacks_is_not_applicable():
    assert NOT_APPLICABLE == ask("packed, sdpa", "mamba").status


def test_a_second_term_on_the_logits_is_no_gradient_of_the_target():
    model = Subject("llama").fresh()
    plain = model.forward

    def forward(*args, **kwargs):
        output = plain(*args, **kwargs)
        output.loss = output.loss + 0.01 * output.logits.pow(2).mean()
        return output

    assert OK == explained(Subject("llama").fresh()).status
    model.forward = forward
    assert DEVIATES == explained(model).status


@pytest.mark.parametrize("reentrant", [False, True])
def test_a_parameter_that_checkpointing_loses_is_named(reentrant):
    model = Subject("llama").fresh()
    model.activation_checkpointing_enable = lambda _: model.model.layers[0].mlp.requires_grad_(False)

    cell = same_gradient(model, reentrant)

    assert DEVIATES == cell.status
    assert cell.said.startswith("3 parameters lose their gradient (model.layers.0.mlp.down_proj.weight")


def test_a_gradient_that_checkpointing_changes_is_measured():
    model = Subject("llama").fresh()

    def enable(_):
        model.model.norm.weight.register_hook(lambda gradient: 1.25 * gradient)

    model.activation_checkpointing_enable = enable
    cell = same_gradient(model, reentrant=False)

    assert DEVIATES == cell.status
    largest = max(float(gradient.abs().max()) for gradient in gradients(model, "causal-lm").values())
    # The hook is still there.
    share = 0.25 * float(model.model.norm.weight.grad.abs().max()) / 1.25 / largest
    assert pytest.approx(share) == cell.figure
    assert "model.norm.weight" in cell.said


def test_what_rounding_moves_shrinks_in_float64():
    cell = same_gradient(Subject("doge").fresh(), reentrant=True)

    assert OK == cell.status
    assert 0 < cell.figure < 1e-3
    assert "in float64" in cell.said


@pytest.mark.parametrize("share", [1e-6, 1e-4])
def test_a_small_change_is_not_taken_for_rounding(share):
    model = Subject("llama").fresh()

    def enable(_):
        model.model.norm.weight.register_hook(lambda gradient: (1 + share) * gradient)

    model.activation_checkpointing_enable = enable

    assert DEVIATES == same_gradient(model, reentrant=False).status


def test_a_model_that_cannot_be_float64_is_not_judged():
    cell = same_gradient(Subject("inkling2_text").fresh(), reentrant=True)

    assert NO_READING == cell.status
    assert "does not run in float64" in cell.said


def test_equal_gradients_need_no_float64():
    assert "equal to the last bit" in same_gradient(Subject("llama").fresh(), reentrant=True).said


def test_the_kind_of_checkpointing_is_the_one_that_was_asked_for():
    model, asked = Subject("llama").fresh(), list[dict[str, bool]]()
    model.activation_checkpointing_enable = asked.append

    same_gradient(model, reentrant=True)
    same_gradient(model, reentrant=False)

    assert [{"use_reentrant": True}, {"use_reentrant": False}] == asked


def test_checks_that_train_leave_the_shared_model_alone():
    subject = Subject("gpt2")
    before = {name: value.clone() for name, value in subject.model().state_dict().items()}

    for check in all_checks():
        check.run(subject)

    after = subject.model().state_dict()
    assert all(torch.equal(value, after[name]) for name, value in before.items())


@pytest.mark.parametrize("name", ["ctrl", "bart"])
def test_embeddings_that_are_scaled_in_place_or_called_with_ids_for_their_shape_are_read(name):
    assert OK == ask("padded right", name).status


def test_a_head_behind_an_embedding_of_another_size_is_read():
    assert OK == ask("head", "rembert").status
