"""What the checks say about heads that do not predict the next token, right ones and broken ones."""

import contextlib
import functools
import io

import pytest
import torch

from faults import CATALOGUE, planted
from instrument.atlas import repro
from instrument.atlas.build import Subject
from instrument.atlas.cell import DEVIATES, NO_READING, NOT_APPLICABLE, OK
from instrument.atlas.checkpointing import same_gradient
from instrument.atlas.checks import all_checks
from instrument.atlas.heads import HEADS, batch_for
from instrument.atlas.leaks import causal, padded
from instrument.atlas.weights import accumulated, explained, targets

EXAMPLES = {
    "causal-lm": "llama",
    "conditional-generation": "llava",
    "encoder-decoder": "t5",
    "masked-lm": "bert",
    "token-classification": "llama",
    "sequence-classification": "llama",
    "multi-label": "llama",
    "regression": "llama",
    "multiple-choice": "xlm",
}
CHECKS = {"next tokens": 15, "tokens": 9, "rows": 8, "decoder tokens": 9}
WRONG = {
    "causal-lm": ["packed, default call", "packed, mask of ones"],
    "conditional-generation": ["packed, default call", "packed, mask of ones"],
    "masked-lm": ["packed, no cache", "accumulation, M = 4"],
}


@pytest.mark.parametrize("head", HEADS)
def test_every_check_of_a_head_is_answered(head):
    subject = Subject(EXAMPLES[head], head)

    found = {check.name: check.run(subject) for check in all_checks(head)}

    assert CHECKS[HEADS[head].scores] == len(found) or (head in ("multi-label", "regression") and len(found) == 3)
    wrong = [name for name, cell in found.items() if cell.status not in (OK, NOT_APPLICABLE)]
    assert WRONG.get(head, ["accumulation, M = 4"]) == wrong


CASES = [
    ("masked-lm", "bert", 4.09),
    ("token-classification", "bert", 4.09),
    ("sequence-classification", "llama", 3),
    ("multi-label", "bert", 3),
    ("regression", "bert", 3),
    ("multiple-choice", "bert", 3),
    ("encoder-decoder", "bart", 4.09),
]


@pytest.mark.parametrize(("head", "name", "figure"), CASES)
def test_four_micro_batches_weigh_four_times_too_much(head, name, figure):
    one, four = (accumulated(Subject(name, head).fresh(), m, head) for m in (1, 4))

    assert [OK, DEVIATES] == [one.status, four.status]
    assert "sum of micro-batch means, M = 4 times too large" in four.said
    assert pytest.approx(figure, rel=1e-2) == four.figure


@pytest.mark.parametrize("name", ["bart", "mbart", "t5gemma"])
def test_a_decoder_that_reads_an_encoder_is_causal_and_trained_on_its_own_labels(name):
    subject = Subject(name, "encoder-decoder")

    found = [ask(subject.fresh(), head="encoder-decoder") for ask in (causal, targets, explained)]
    sides = [padded(subject.fresh(), side, "encoder-decoder") for side in ("right", "left")]

    assert [OK] * 5 == [cell.status for cell in (*found, *sides)]


def test_a_decoder_that_looks_ahead_is_found_behind_an_encoder():
    with planted(CATALOGUE["attends_to_future"]):
        cell = causal(Subject("bart", "encoder-decoder").fresh(), "encoder-decoder")

    assert DEVIATES == cell.status
    assert "depends on later tokens" in cell.said


def test_a_model_without_an_encoder_beside_encoder_decoders_predicts_the_next_token():
    model = Subject("granite_speech", "encoder-decoder").fresh()

    assert "the next token, at all 14 positions" == targets(model, "encoder-decoder").said


def altered(model, alter):
    """The same model with its logits changed before the loss is taken of them."""
    plain = model.forward

    @functools.wraps(plain)
    def forward(*args, labels, **kwargs):
        output = plain(*args, **kwargs)
        output.logits = alter(output.logits)
        output.loss = torch.nn.functional.cross_entropy(output.logits.flatten(0, -2), labels.flatten())
        return output

    model.forward = forward
    return model


ROWS = [("sequence-classification", "llama"), ("multiple-choice", "xlm")]


@pytest.mark.parametrize(("head", "name"), ROWS)
def test_rows_that_are_compared_with_each_other_leak(head, name):
    right = altered(Subject(name, head).fresh(), lambda logits_bk: logits_bk)
    model = altered(Subject(name, head).fresh(), lambda logits_bk: logits_bk * logits_bk.mean(0))

    assert OK == padded(right, "right", head).status
    cell = padded(model, "right", head)
    assert DEVIATES == cell.status
    assert "ordered pairs of documents leak" in cell.said


@pytest.mark.parametrize("head", ["sequence-classification", "multiple-choice"])
def test_a_first_position_that_is_padding_classes_a_row(head):
    model = Subject("bert", head).fresh()

    assert OK == padded(model, "right", head).status
    cell = padded(model, "left", head)
    assert DEVIATES == cell.status
    assert "depends on padding" in cell.said


def test_a_mask_that_is_dropped_shows_at_padding():
    with planted(CATALOGUE["attention_drops_mask"]):
        cell = padded(Subject("llama", "token-classification").fresh(), "left", "token-classification")

    assert "depends on padding" in cell.said


def relabelled(model, change):
    """The same model, trained on other labels than those that it is given."""
    plain = model.forward

    @functools.wraps(plain)
    def forward(*args, labels, **kwargs):
        return plain(*args, labels=change(labels), **kwargs)

    model.forward = forward
    return model


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda y: torch.where(y == -100, y, (y + 1) % 3), "0 are not trained and 18 as another class; 0 places"),
        (lambda y: y.clone().index_fill_(1, torch.tensor([0]), -100), "4 are not trained and 0 as another class; 0"),
        (lambda y: y.clamp(min=0), "0 are not trained and 0 as another class; 6 places without a label are trained"),
    ],
)
def test_places_trained_on_another_label_than_their_own_are_counted(change, said):
    model = relabelled(Subject("bert", "token-classification").fresh(), change)

    cell = targets(model, "token-classification")

    assert DEVIATES == cell.status
    assert said in cell.said


def test_a_second_term_on_the_logits_of_a_row_is_no_gradient_of_its_class():
    model = Subject("bert", "sequence-classification").fresh()
    plain = model.forward

    @functools.wraps(plain)
    def forward(*args, **kwargs):
        output = plain(*args, **kwargs)
        output.loss = output.loss + 0.01 * output.logits.square().mean()
        return output

    assert OK == explained(Subject("bert", "sequence-classification").fresh(), "sequence-classification").status
    model.forward = forward
    assert DEVIATES == explained(model, "sequence-classification").status


def test_a_target_that_the_model_is_certain_of_is_left_out():
    cell = accumulated(Subject("mt5", "encoder-decoder").fresh(), 1, "encoder-decoder")

    assert OK == cell.status
    assert cell.figure < 1e-3
    assert "over 56 targets" in cell.said


def test_a_bias_of_keys_has_no_gradient_that_checkpointing_could_change():
    cell = same_gradient(Subject("bart", "encoder-decoder").fresh(), True, "encoder-decoder")

    assert OK == cell.status
    assert cell.figure < 1e-6


def test_a_gradient_that_is_no_number_in_float64_is_not_judged():
    model = Subject("bert", "token-classification").fresh()

    def moved(gradient):
        return gradient * (float("nan") if gradient.dtype == torch.float64 else 1.001)

    model.activation_checkpointing_enable = lambda _: model.classifier.weight.register_hook(moved)
    cell = same_gradient(model, False, "token-classification")

    assert NO_READING == cell.status
    assert "does not run in float64" in cell.said


def test_labels_are_those_of_the_head():
    ids = torch.tensor([[0, 5, 3], [6, 7, 9]])
    batch = {
        "input_ids": ids,
        "labels": torch.tensor([[-100, -100, 3], [6, 7, 9]]),
        "attention_mask": (ids != 0).long(),
    }
    made = {head: batch_for(head, batch) for head in HEADS}

    assert [[-100, -100, 0], [0, 1, 0]] == made["token-classification"]["labels"].tolist()
    assert [2, 0] == made["sequence-classification"]["labels"].tolist()
    assert [[1, 0, 1], [0, 1, 0]] == made["multi-label"]["labels"].tolist()
    assert [0.0, 1.0] == made["regression"]["labels"].tolist()
    assert [2, 0] == made["multiple-choice"]["labels"].tolist()
    assert [[0, 5, 3], [3, 5, 0], [3, 0, 5]] == made["multiple-choice"]["input_ids"][0].tolist()
    assert [[0, 5, 2], [6, 7, 2]] == made["regression"]["input_ids"].tolist()
    assert made["encoder-decoder"] is batch


@pytest.mark.parametrize("head", [head for head in HEADS if head != "causal-lm"])
def test_the_script_of_another_head_prints_the_same_figure(head):
    subject, check = Subject(EXAMPLES[head], head), all_checks(head)[-1]
    said = io.StringIO()

    with contextlib.redirect_stdout(said):
        script = repro.script(subject.name, subject.config_arguments, check.tail(subject), head)
        exec(compile(script, "script", "exec"), {})

    assert f"figure: {check.run(subject).figure}" == said.getvalue().splitlines()[-1]
