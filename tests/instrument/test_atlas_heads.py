"""What the Trainer does with heads that do not predict the next token, read at their own logits."""

import contextlib
import io

import pytest
import torch

from instrument.atlas import repro
from instrument.atlas.build import Subject
from instrument.atlas.cell import DEVIATES, OK
from instrument.atlas.checks import all_checks
from instrument.atlas.heads import HEADS, batch_for

CASES = [
    ("masked-lm", "bert", 4.09),
    ("token-classification", "bert", 4.09),
    ("sequence-classification", "llama", 3),
    ("multiple-choice", "bert", 3),
    ("encoder-decoder", "bart", 4.09),
]


@pytest.mark.parametrize(("head", "name", "figure"), CASES)
def test_four_micro_batches_weigh_four_times_too_much(head, name, figure):
    one, four = (check.run(Subject(name, head)) for check in all_checks(head))

    assert [OK, DEVIATES] == [one.status, four.status]
    assert "sum of micro-batch means, M = 4 times too large" in four.said
    assert pytest.approx(figure, rel=1e-2) == four.figure


def test_every_head_is_registered_by_transformers():
    assert all("bert" in Subject("bert", head).kind.lower() for head in HEADS if head != "encoder-decoder")


def test_classes_are_of_the_rows_and_padding_has_none():
    ids = torch.tensor([[3, 4, 0], [6, 7, 9]])
    batch = {"input_ids": ids, "labels": torch.tensor([[3, 4, -100], [6, 7, 9]]), "attention_mask": (ids != 0).long()}

    assert [[1, 0, -100], [0, 1, 1]] == batch_for("token-classification", batch)["labels"].tolist()
    assert [1, 0] == batch_for("sequence-classification", batch)["labels"].tolist()
    assert [[[3, 4, 0], [0, 4, 3]], [[6, 7, 9], [9, 7, 6]]] == batch_for("multiple-choice", batch)["input_ids"].tolist()


def test_the_script_of_another_head_prints_the_same_figure():
    subject, check = Subject("bert", "token-classification"), all_checks("token-classification")[1]
    said = io.StringIO()

    with contextlib.redirect_stdout(said):
        script = repro.script("bert", subject.config_arguments, check.tail(subject), "token-classification")
        exec(compile(script, "script", "exec"), {})

    assert f"figure: {check.run(subject).figure}" == said.getvalue().splitlines()[-1]
