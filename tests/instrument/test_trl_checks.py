"""The checks of TRL's losses hold on the installed stack, see an error of 1 %, and say why one cannot run."""

import dataclasses
import json
import re
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from trl import GRPOTrainer, RLOOTrainer
from typer.testing import CliRunner

from instrument import checks, trl_checks, trl_runs, trl_trainers
from instrument.cli import app
from instrument.objective_record import Compared, NotRun, ObjectiveRun
from instrument.objective_verdict import judge_objective, miss
from instrument.report import as_json, as_page

ROOT = Path(__file__).parents[2]
KNOWN = (
    "SFT dft, label smoothing",
    "DPO sigmoid, short micro-batch",
    "DPO sft, uneven micro-batches",
    "DPO, averaged reference, burn-in",
    "GRPO top_entropy_quantile, sequence",
    "GRPO truncated, in the mean",
    "GRPO as it comes",
    "GRPO entropy bonus, its mean",
    "GRPO dapo, S = 2 K",
    "GRPO cispo, S = 2 K",
    "GRPO vespo, S = 2 K",
    "Online DPO, sigmoid",
    "Online DPO, ipo",
    "GKD, generated",
    "GOLD, written",
    "GOLD, generated",
    "Server distillation, beta 0",
    "Server distillation, beta 0, no tail",
    "Server distillation, beta 1/4",
    "Server distillation, beta 1",
    "Async distillation, beta 0",
    "Async distillation, beta 1/4",
    "Async distillation, beta 1",
    "IW-OPD",
    "IW-OPD jsd, beta 0",
    "IW-OPD jsd, beta 1/4",
    "IW-OPD jsd, beta 1",
    "Async GRPO, two micro-batches",
    "GOLD across tokenizers, generated",
    "GOLD across tokenizers",
    "GOLD across tokenizers, in order",
    "GOLD across tokenizers, bayesian",
    "GOLD across tokenizers, hybrid",
    "SDPO mixed with dapo",
    "SDPO, rewards not scaled",
)
NOT_RUN = (
    "GRPO ratio of another sampler",
    *(f"trl.{name}" for name in trl_trainers.NOT_CHECKED),
)
# What a fault in the trainer must turn red, one for each way of judging; the others are marked slow.
FEW = (
    "SFT dft",
    "SFT dft, label smoothing",
    "DPO sigmoid",
    "KTO kto",
    "Reward",
    "GRPO clipped",
    "RLOO",
    "Online DPO, ipo",
)
# First word of their names.
FAMILIES = (
    *("SFT", "DPO", "KTO", "Reward", "GRPO", "RLOO", "CPO", "SimPO", "AlphaPO", "TPO", "ORPO", "GMPO"),
    *("Distillation", "GKD", "GOLD", "IW-OPD", "Server", "Async", "SDFT", "A*-PO", "Another", "SDPO", "Online"),
    "bfloat16",
)


def family_of(name):
    return re.split("[ ,:.]", name)[0]


def outcome(name):
    """What the check of that name finds."""
    return next(o for o in checks.run_checks(name) if o.name == name)


def off_by(run, share):
    """The same run, had every weight been measured larger by this share."""
    windows = [[dataclasses.replace(b, measured=b.measured * (1 + share)) for b in window] for window in run.windows]
    return dataclasses.replace(run, windows=windows, documented=None if run.documented is None else windows)


def assert_holds(name):
    found = outcome(name)
    status = "known" if name in KNOWN else "not run" if name in NOT_RUN else "ok"

    assert found.status == status, found.measured
    if status != "not run":
        assert judge_objective(off_by(found.report, 0.01), [])[1] == "FAULT"
    return found


@pytest.mark.parametrize("name", FEW)
def test_a_check_holds_and_sees_one_per_cent(name):
    assert_holds(name)


@pytest.mark.slow
@pytest.mark.drivers
@pytest.mark.parametrize("family", FAMILIES)
def test_every_check_holds_sees_one_per_cent_and_is_what_its_page_says(family):
    names = [name for name, *_ in trl_checks.trl_checks() if family_of(name) == family]

    page = (ROOT / "docs/checks.md").read_text("utf-8")

    assert names
    for name in names:
        (told,) = as_json.outcomes([assert_holds(name)])["checks"]
        assert as_page.line(told, as_page.labels_of(page)) in page.splitlines()


def test_every_check_is_of_a_family():
    assert {family_of(name) for name, *_ in trl_checks.trl_checks()} == {*FAMILIES}


@pytest.mark.parametrize(
    ("name", "seam", "change"),
    [
        ("SFT dft", "trl.trainer.sft_trainer.SFTTrainer._get_num_items_in_batch", lambda count: count + 1),
        ("DPO sigmoid", "trl.trainer.dpo_trainer.DPOTrainer._compute_loss", lambda loss: loss * 1.01),
        ("KTO kto", "trl.trainer.kto_trainer.KTOTrainer._compute_loss", lambda loss: loss * 1.01),
        ("Reward", "trl.trainer.reward_trainer.RewardTrainer.compute_loss", lambda loss: loss * 1.01),
        ("GRPO clipped", "trl.trainer.grpo_trainer.GRPOTrainer._compute_loss", lambda loss: loss * 1.01),
        ("RLOO", "trl.trainer.rloo_trainer.RLOOTrainer._compute_loss", lambda loss: loss * 1.01),
    ],
)
def test_a_check_fails_when_the_trainer_is_wrong(name, seam, change, monkeypatch):
    path, attribute = seam.rsplit(".", 1)
    module, kind = path.rsplit(".", 1)
    owner = getattr(__import__(module, fromlist=[kind]), kind)
    original = getattr(owner, attribute)
    monkeypatch.setattr(owner, attribute, lambda *args, **kwargs: change(original(*args, **kwargs)))

    assert outcome(name).status == "FAULT"


@pytest.mark.parametrize("name", ["GRPO truncated, not counted", "GRPO truncated, in the mean"])
def test_a_truncated_completion_that_is_trained_all_the_same_is_a_fault(name, monkeypatch):
    original = GRPOTrainer.__init__

    def forgetful(self, *args, **kwargs):
        original(self, *args, **kwargs)
        assert self.mask_truncated_completions
        self.mask_truncated_completions = False

    monkeypatch.setattr(GRPOTrainer, "__init__", forgetful)

    assert outcome(name).status == "FAULT"


def test_a_completion_that_drifted_and_is_kept_is_a_fault(monkeypatch):
    original = GRPOTrainer.get_off_policy_mask
    monkeypatch.setattr(
        GRPOTrainer,
        "get_off_policy_mask",
        staticmethod(lambda **given: original(**{**given, "off_policy_threshold": 9.0})),
    )

    assert outcome("GRPO off-policy mask").status == "FAULT"


def test_a_seam_that_moved_is_not_run_and_names_it(monkeypatch):
    monkeypatch.setattr(RLOOTrainer, "__init__", lambda self, model: None)
    found = outcome("RLOO")

    assert found.status == "not run"
    assert "RLOOTrainer takes no reward_funcs" in found.measured


def test_a_mistake_is_no_reason_not_to_run():
    def run():
        raise KeyError("mistake")

    with pytest.raises(KeyError):
        trl_checks.or_reason(run)


def test_a_missing_library_is_a_reason_not_to_run():
    def run():
        raise ImportError("No module named 'trl'")

    said, status, _ = judge_objective(trl_checks.or_reason(run), [])
    assert re.fullmatch(r"trl \d+\.\d+\.\d+: No module named 'trl'", said)
    assert status == "not run"


def test_a_trainer_that_takes_other_arguments_is_a_fault_that_names_the_version_and_the_seam(monkeypatch):
    monkeypatch.setattr(RLOOTrainer, "__init__", lambda self, model, reward_funcs: None)
    found = outcome("RLOO")

    assert found.status == "FAULT"
    assert re.match(
        r"does not run on trl \d+\.\d+\.\d+: TypeError: .*unexpected keyword argument 'args'", found.measured
    )


def test_a_run_of_which_nothing_was_read_shows_nothing():
    assert judge_objective(ObjectiveRun([], {}), [])[:2] == (
        "no micro-batch came to the read point, so no weight was measured",
        "FAULT",
    )
    assert judge_objective(ObjectiveRun([[]], {}), [])[1] == "FAULT"


def micro_batch(measured, expected, allowed):
    """One row of tokens."""
    return [[Compared(np.array([3]), *(np.array([values]) for values in (measured, expected, allowed)))]]


def test_the_first_token_that_is_off_is_named():
    largest, first = miss(micro_batch([0.5, 0.3, 0.1], [0.5, 0.25, 0.2], [0.01, 0.01, 0.01]))

    assert largest == pytest.approx(1 / 5)
    assert first == "window 0, row 3, token 2 weighs 0.3, the closed form gives 0.25"


def test_a_token_that_rounding_hides_is_left_out():
    assert miss(micro_batch([0.5, 9, 0.25], [0.5, 0.25, 0.25], [0.01, np.nan, 0.01])) == (0, "")


def test_a_run_of_which_rounding_hides_most_shows_nothing():
    _, first = miss(micro_batch([0.5, 9, 9], [0.5, 0.25, 0.25], [0.01, np.nan, np.nan]))

    assert first == "rounding hides the weights of 2 tokens, of 3 that should weigh something"


def test_a_weight_where_there_should_be_none_is_off_however_small():
    _, first = miss(micro_batch([0.5, 1e-300], [0.5, 0], [0.01, 0]))

    assert "token 2 weighs 1e-300" in first


def test_a_deviation_that_is_gone_is_ok():
    right, other = micro_batch([0.5], [0.5], [0.01]), micro_batch([0.5], [0.25], [0.01])

    assert judge_objective(ObjectiveRun(other, {}, right, "known"), [])[:2] == ("the documented weights", "ok")
    assert judge_objective(ObjectiveRun(right, {}, other, "known"), [])[:2] == ("known", "known")
    assert judge_objective(ObjectiveRun(other, {}, other, "known"), [])[1] == "FAULT"
    assert judge_objective(NotRun("no GPU"), [])[:2] == ("no GPU", "not run")


def test_the_report_says_what_was_not_run_and_holds_every_weight(tmp_path):
    result = CliRunner().invoke(app, ["report", "--only", "GRPO r", "--json", str(tmp_path / "report.json")])
    told = json.loads((tmp_path / "report.json").read_text())["checks"]

    assert result.exit_code == 0
    assert "1 ok, 0 known deviations, 0 faults, 1 not run" in result.stdout
    assert ["GRPO rewards not scaled", "GRPO ratio of another sampler"] == [check["name"] for check in told]
    (batch, *_), *_ = told[0]["report"]["windows"]
    np.testing.assert_allclose(batch["measured"], batch["expected"], atol=np.max(batch["allowed"]))
    assert "rollout_func" in told[0]["report"]["changes"]
    assert told[1]["report"]["reason"].startswith("use_vllm needs vLLM")


@pytest.mark.parametrize(
    ("met", "said"),
    [
        ([[0, 1], [2, 3]], ""),
        ([[0, 1], [0, 1]], "2 of 4 generated completions were never trained on, row 2 the first"),
        # A masked one has no number of its own.
        ([[0, 1], [-1, -1]], ""),
    ],
)
def test_a_completion_that_comes_to_no_window_is_told(met, said):
    windows = [[SimpleNamespace(numbers=np.array(numbers))] for numbers in met]
    driven = SimpleNamespace(windows=windows, generations=[(0, 1), (2, 3)])

    assert said == trl_runs.untrained(driven)
