"""What the page of a run and its JSON hold beside the verdict: maps, ledger, changed defaults."""

import dataclasses
import enum
import itertools
import json
import re
from pathlib import Path
from types import SimpleNamespace

import jsonschema
import numpy as np
import pytest
import torch

from instrument.leak_record import Leaks, Pair
from instrument.leak_sequences import Span
from instrument.record import LeftOut
from instrument.run import charts
from instrument.run.certificate import Certificate, Check
from instrument.run.defaults import Change, changes
from instrument.run.outcome import Outcome
from instrument.run.page import page
from tests.instrument.records import a_record, a_row, a_window, an_after
from tests.instrument.scripts import EXAMPLES, LOOP, run, script

PAGE = Path(charts.__file__).with_name("page.html")


def outcome(*windows, **more):
    return Outcome(["train.py"], 0, right="right", record=a_record(*windows), model="Toy", **more)


def test_a_weight_stands_at_the_place_of_its_target():
    first, second = a_row([0.5, 0, 0.25], scored=[True, False, True]), a_row([-0.125])

    found = charts.places(a_window(first, second))

    # Three targets: w*N is 1.5, 0.75 and -0.375, whose sign the rows show.
    nothing = np.nan
    np.testing.assert_allclose(
        [[nothing, np.log2(1.5), nothing, np.log2(0.75)], [nothing, np.log2(0.375), nothing, nothing]], found
    )


def two_of_three():
    spans = (Span(0, 0, 4), Span(0, 4, 6), Span(0, 6, 9))
    return Leaks(spans, (Pair(1, 0, 2, 0.5), Pair(2, 0, 3, 0.05)), (), 5.0, 4, 2, False)


def test_a_leak_stands_in_the_row_of_the_loss_and_the_column_of_the_tokens():
    nothing = np.nan

    np.testing.assert_allclose(
        [[nothing, nothing, nothing], [-1, nothing, nothing], [-2, nothing, nothing]], charts.shares(two_of_three())
    )


def test_the_page_holds_all_that_is_known():
    held = Certificate(3, 0.5, (Check("no hook left", True), Check("nothing drawn", False)))
    more = {"certificate": held, "leaks": two_of_three(), "changes": {"lr": Change(0.25, 0.5)}}

    text = page(outcome(a_window(a_row([0.5, 0.5])), **more))

    assert "LEAK: 2 of 6 ordered pairs of 3 sequences" in text
    assert "2 pairs are not 0" in text
    assert '<td class="held">held</td><td>no hook left</td>' in text
    assert '<td class="broken">BROKEN</td><td>nothing drawn</td>' in text
    assert '<th scope="row">lr</th><td>0.25</td><td>0.5</td>' in text
    assert (
        '<td class="number">3</td><td class="number">2</td><td class="number">2</td><td class="number">2</td>' in text
    )
    assert 4 == text.count("<svg")


def test_a_stage_has_its_column_when_it_was_measured():
    window = a_window(a_row([0.5, 0.5]))
    before = charts.by_stage(window)
    window.after = an_after()

    told = charts.by_stage(window)

    assert "loss" in before
    assert "backward" not in before
    assert all(name in told for name in ("loss", "backward", "factor on the"))
    assert "taken in" not in told


def test_a_run_without_a_verdict_has_a_page_all_the_same():
    text = page(Outcome(["train.py"], 0, reason="it is frozen"))

    assert "NO VERDICT: it is frozen" in text
    assert "Nothing was attached to the run." in text


def test_a_long_ledger_is_cut_and_it_is_said():
    text = page(outcome(a_window(*(a_row([0.5]) for _ in range(230)))))

    assert "30 more are in what" in text
    assert "230 runs of samples" in text


def test_what_was_thrown_away_stands_in_the_ledger_as_that():
    whole = outcome(a_window(a_row([0.5])))
    plain = page(whole)
    whole.record.left_out.append(LeftOut(0, 0, np.array([3, 4, 5]), np.zeros(1, int)))

    assert 0 == plain.count("thrown away before this window")
    assert 1 == page(whole).count("thrown away before this window")


def test_the_ledger_of_a_run_tells_each_divisor(tmp_path):
    run("--json", tmp_path / "run.json", script(LOOP))
    entries = json.loads((tmp_path / "run.json").read_text())["ledger"]

    # Two micro-batches of two rows, with 3 and 7 targets in each; the mean of means divides by 2 n_m.
    assert [(12, 20), (12, 20), (28, 20), (28, 20)] == [(round(e["divisor"]), e["due"]) for e in entries[:4]]
    assert [3, 3, 7, 7] == [e["targets"] for e in entries[:4]]


def test_what_is_written_follows_the_schema(tmp_path):
    run("--leaks", "--json", tmp_path / "run.json", script(LOOP))
    schema = json.loads((EXAMPLES.parent / "docs" / "schema.json").read_text())

    written = json.loads((tmp_path / "run.json").read_text())
    assert [] == list(jsonschema.Draft202012Validator(schema).iter_errors(written))


class Kind(enum.Enum):
    PLAIN, OTHER = "plain", "other"


@dataclasses.dataclass
class Arguments:
    output_dir: str = "there"
    hub_token: str = "secret"
    kwargs: dict = dataclasses.field(default_factory=dict)
    kind: Kind | str = "plain"
    rows: int = 8
    names: list = dataclasses.field(default_factory=list)
    flag: bool | None = None


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({}, {}),
        ({"kind": Kind.PLAIN, "flag": False, "names": None}, {}),
        ({"kind": Kind.OTHER, "rows": 0}, {"kind": ("other", "plain"), "rows": (0, 8)}),
        ({"output_dir": "here", "hub_token": "mine", "kwargs": {"token": "mine"}}, {}),
    ],
    ids=["defaults", "other words for defaults", "changed", "places and secrets"],
)
def test_arguments_that_are_not_at_their_default_are_told(given, expected):
    assert expected == changes(SimpleNamespace(args=Arguments(**given)), [])


def test_settings_of_an_optimizer_are_told_side_by_side_where_its_groups_differ():
    one, other = torch.nn.Parameter(torch.ones(1)), torch.nn.Parameter(torch.ones(1))
    groups = [{"params": [one], "weight_decay": 0.5}, {"params": [other]}]

    found = changes(None, [torch.optim.AdamW(groups, lr=0.25)])

    assert {"AdamW.lr": (0.25, 0.001), "AdamW.weight_decay": ("0.5, 0.01", 0.01)} == found


# How the three dichromacies see linear RGB: G. M. Machado et al., 2009, severity 1 (doi:10.1109/TVCG.2009.113).
SEEN = {
    "protanopia": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
    "deuteranopia": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.01182, 0.04294, 0.968881]],
    "tritanopia": [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.3039]],
}
# Of linear sRGB, over the white of D65.
TO_XYZ = np.array([[0.4339, 0.3762, 0.1899], [0.2127, 0.7152, 0.0722], [0.0178, 0.1095, 0.8730]])


def lab(colour, seen):
    """CIE L*, a*, b* of #rrggbb as it is seen."""
    c = np.array([int(colour[i : i + 2], 16) / 255 for i in (0, 2, 4)])
    linear = np.where(c <= 0.04045, c / 12.92, ((c + 0.055) / 1.055) ** 2.4)
    x, y, z = np.cbrt(TO_XYZ @ np.clip(seen @ linear, 0, 1))
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


@pytest.mark.parametrize("kind", SEEN)
def test_shades_stay_apart_and_in_order_for_the_colour_blind(kind):
    found = re.findall(r"\.w(\d+),\.m\d+ \{ background: #([0-9a-f]{6})", PAGE.read_text())
    shades = [lab(colour, np.array(SEEN[kind])) for _, colour in sorted(found, key=lambda one: int(one[0]))]

    assert 13 == len(shades)
    # 2.3 is the least difference that is noticed.
    assert min(np.linalg.norm(a - b) for a, b in itertools.combinations(shades, 2)) > 2.3
    lightness = [shade[0] for shade in shades]
    assert sorted(lightness[:5]) == lightness[:5]
    assert sorted(lightness[8:], reverse=True) == lightness[8:]


def test_a_weight_is_told_by_a_number_too_and_a_minus_by_a_line():
    style = PAGE.read_text()

    assert ".row i[title]::after { content: attr(title);" in style
    assert '[class^="m"] { border-bottom: 3px double #000 !important; }' in style
