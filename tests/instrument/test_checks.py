"""The checks of `weighbridge report` hold on the installed stack, and each fails when what it watches is broken."""

import re
from types import SimpleNamespace

import numpy as np
import pytest

from faults import CATALOGUE, planted
from instrument import checks
from instrument.report import as_json, as_text

NAMES = (
    "accumulation 1x8",
    "accumulation 4x2",
    "accumulation 2x4",
    "one row per micro-batch",
    "shuffled order",
    "padding right, 7 more",
    "padding left, 7 more",
    "tail window of 2 of 3",
    "label smoothing 0.1",
    "logged loss",
    "pad = EOS, library collator",
    "padding left, library collator",
    "hand-written loop",
    "padded rows, Trainer",
    "flattened rows, Trainer",
    "joined without boundaries",
    "position_ids, use_cache=False",
    "position_ids, default call",
    "TRL padding_free",
    "TRL packing bfd",
    "TRL packing bfd_split",
    "TRL packing wrapped",
)
KNOWN = (
    "pad = EOS, library collator",
    "padding left, library collator",
    "hand-written loop",
    "joined without boundaries",
    "position_ids, default call",
    "TRL packing wrapped",
)


def outcomes(only):
    """Status of each check with that in its name."""
    return {outcome.name: outcome for outcome in checks.run_checks(only)}


@pytest.mark.parametrize("name", NAMES)
def test_a_check_holds_on_the_installed_stack(name):
    found = outcomes(name)[name]

    assert found.status == (checks.KNOWN if name in KNOWN else checks.OK), found.measured


@pytest.mark.parametrize(
    ("name", "fault"),
    [
        ("accumulation 4x2", "mean_of_micro_batch_means"),
        ("accumulation 2x4", "count_ignored_by_loss"),
        ("one row per micro-batch", "counted_before_shift"),
        ("shuffled order", "mean_of_micro_batch_means"),
        ("padding right, 7 more", "count_ignored_by_loss"),
        ("padding left, 7 more", "mean_of_micro_batch_means"),
        ("tail window of 2 of 3", "mean_of_micro_batch_means"),
        ("label smoothing 0.1", "mean_of_micro_batch_means"),
        ("logged loss", "logged_times_micro_batches"),
        ("pad = EOS, library collator", "mean_of_micro_batch_means"),
        ("padding left, library collator", "count_ignored_by_loss"),
        ("hand-written loop", "last_micro_batch_only"),
        ("padded rows, Trainer", "state_carried_on"),
        ("flattened rows, Trainer", "ones_mask_hides_packing"),
        ("joined without boundaries", "attends_to_future"),
        ("position_ids, use_cache=False", "packing_not_detected"),
        ("position_ids, default call", "attends_to_future"),
        ("TRL padding_free", "padding_free_with_mask"),
        ("TRL packing bfd", "packed_by_wrapping"),
        ("TRL packing bfd_split", "pack_lengths_dropped"),
        ("TRL packing wrapped", "attends_to_future"),
    ],
)
def test_a_check_fails_when_its_fault_is_planted(name, fault):
    with planted(CATALOGUE[fault]) as hits:
        found = outcomes(name)[name]

    assert hits.count > 0
    assert found.status == checks.FAULT


def test_every_check_is_tested():
    # Those of TRL's losses and of adapters have files of their own.
    assert list(NAMES) == [check.name for check in checks.all_checks() if check.group not in ("peft", "trl")]


def test_every_check_is_shown_to_fail():
    marks = test_a_check_fails_when_its_fault_is_planted.pytestmark
    shown = {name for mark in marks if mark.name == "parametrize" for name, _ in mark.args[1]}

    assert set(NAMES) - shown == {"accumulation 1x8"}


def test_a_check_that_ends_in_an_error_is_a_fault_with_version_and_place_and_costs_no_other(monkeypatch):
    def moved():
        return list(range(3)).index(None), []

    here = checks.Check("here", "trainer", "a", lambda: (None, []), lambda report, logged: ("a", checks.OK, 0.0))
    wrong = checks.Check("wrong", "trainer", "b", moved, lambda report, logged: ("b", checks.OK, 0.0))
    monkeypatch.setattr(checks, "all_checks", lambda: [wrong, here])

    one, other = checks.run_checks()
    assert (one.status, other.status) == (checks.FAULT, checks.OK)
    assert re.fullmatch(
        r"does not run on transformers \d+\.\d+\.\d+: ValueError: .* \(test_checks.py, moved\)", one.measured
    )
    assert as_json.outcomes([one])["checks"][0]["report"] == {"reason": one.measured}
    assert "1 faults" in "".join(as_text.closing([one]))


def test_what_a_release_has_not_got_costs_its_own_check_and_no_other(monkeypatch):
    def missing():
        from transformers import DataCollatorOfNoRelease

        return DataCollatorOfNoRelease, []

    here = checks.Check("here", "trainer", "a", lambda: (None, []), lambda report, logged: ("a", checks.OK, 0.0))
    absent = checks.Check("absent", "leaks", "b", missing, lambda report, logged: ("b", checks.OK, 0.0))
    monkeypatch.setattr(checks, "all_checks", lambda: [absent, here])

    one, other = checks.run_checks()

    assert (one.status, other.status) == (checks.NOT_RUN, checks.OK)
    assert one.measured == "cannot import name 'DataCollatorOfNoRelease' from 'transformers'"
    assert one.report.reason == one.measured


def test_an_unknown_name_lists_the_groups():
    groups = r"\(accelerate, leaks, peft, trainer, trl\)"
    with pytest.raises(LookupError, match=f"'nonsense' matches no check: give a group {groups}"):
        list(checks.run_checks("nonsense"))


@pytest.mark.parametrize(
    ("largest", "deviation", "status"),
    [(4.0, 3.9e-6, checks.KNOWN), (4.0, 4.1e-6, checks.FAULT), (0.5, 0.6e-6, checks.FAULT)],
)
def test_a_known_deviation_is_held_to_the_rounding_of_its_largest_weight(largest, deviation, status):
    report = SimpleNamespace(
        ok=False,
        deviation_from=lambda expected: deviation,
        rounding=lambda: 1e-6,
        windows=[SimpleNamespace(targets=lambda: 10)],
        verdicts=[SimpleNamespace(faults=["token weights follow another mean"])],
    )
    expected = [np.array([0.0, largest / 10]), np.array([largest / 20])]

    judged = checks.right_or_known(report, "as it is known", expected, ["token weights follow"])

    assert judged[1:] == (status, deviation)
