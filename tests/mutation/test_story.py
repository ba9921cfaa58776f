"""The story of one fault, as `prove` prints it."""

import io

import pytest
from rich.console import Console

from faults import CATALOGUE
from mutation.case import Verdict
from mutation.show import show_story
from mutation.status import Effect, Status


def story(name):
    out = io.StringIO()
    verdict = Verdict(
        name=name,
        fault=CATALOGUE[name],
        status=Status.KILLED,
        killers=[],
        unconfirmed=[],
        effect=Effect.MATCHED,
        effects={},
        cells={},
        hits=3,
        equivalent=False,
        note="",
    )
    show_story(Console(file=out, width=200, color_system=None), verdict)
    return out.getvalue()


@pytest.mark.parametrize(
    "line",
    [
        "mean_of_micro_batch_means (transformers>=5, 2024)",
        "  source https://github.com/huggingface/transformers/pull/34191",
        "  seam   transformers.trainer:Trainer._get_num_items_in_batch, called 3 times under the fault",
    ],
)
def test_a_reported_fault_is_told_with_its_report(line):
    assert line in story("mean_of_micro_batch_means").splitlines()


@pytest.mark.parametrize("line", ["scales_gradient (instrument)", "  source none: written to slip past the tests"])
def test_a_fault_of_the_instrument_says_that_nobody_reported_it(line):
    assert line in story("scales_gradient").splitlines()
