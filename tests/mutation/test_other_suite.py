"""The suite of another project is held against the same faults, and nothing else of ours is asked of it."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from mutation import cli
from mutation.status import Effect, Status, accepted
from tests.mutation.project import campaign, lay_out


@pytest.fixture
def plan_of(monkeypatch, tmp_path):
    """What `planted` asks for."""
    plans = []

    def refuse(plan, screen, how):
        plans.append(plan)
        raise ValueError("only asked")

    monkeypatch.setattr(cli, "run", refuse)

    def ask(*arguments):
        result = CliRunner().invoke(cli.app, ["planted", "--out", str(tmp_path), *arguments])
        assert result.exit_code == 2, result.output
        return plans[-1]

    return ask


def test_another_suite_takes_the_place_of_ours(plan_of):
    Path("theirs").mkdir()
    Path("more.py").touch()

    plan = plan_of("--suite", "theirs", "--suite", "more.py::test_f")

    assert (list(plan.suite), plan.effects, plan.cache) == (["theirs", "more.py::test_f"], "", False)


def test_without_one_the_suite_is_ours(plan_of):
    plan = plan_of()

    assert (list(plan.suite), plan.effects, plan.cache) == (
        ["tests/properties"],
        "tests/faults/test_effects.py",
        True,
    )


def test_a_campaign_has_the_sentinels_beside_it(plan_of):
    assert plan_of().sentinels


@pytest.mark.parametrize(("arguments", "asked"), [([], (False, True, 6.0)), (["--cold"], (True, False, 6.0))])
def test_a_cold_campaign_takes_nothing_from_the_cache(plan_of, arguments, asked):
    plan = plan_of(*arguments)

    assert (plan.cold, plan.cache, plan.memory) == asked


def test_memory_is_what_was_asked_for(plan_of):
    assert plan_of("--memory", "2.5").memory == 2.5


def test_an_effect_that_is_not_asked_is_in_nobodys_way():
    assert accepted(Status.KILLED, Effect.NOT_ASKED, equivalent=False)
    assert not accepted(Status.SURVIVED, Effect.NOT_ASKED, equivalent=False)


@pytest.mark.spawn
def test_a_foreign_suite_is_judged_without_effects(tmp_path):
    campaign(lay_out(tmp_path), "first", "--foreign", "wrong", "denied", "harmless")

    verdicts = json.loads((tmp_path / "out" / "summary.json").read_text())["faults"]
    assert {name: (told["status"], told["effect"], told["accepted"]) for name, told in verdicts.items()} == {
        "wrong": ("killed", "not asked", True),
        "denied": ("killed", "not asked", True),
        "harmless": ("survived", "not asked", False),
    }
