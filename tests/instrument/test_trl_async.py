"""What the loop and the checks of AsyncGRPO refuse and see."""

import numpy as np
import pytest
import torch

from instrument import trl_checks
from instrument.loops import async_grpo
from instrument.loops.async_grpo import Rollout, attention, paths, run_async_grpo
from instrument.loops.reference_free import experimental
from instrument.objective_async import shared
from instrument.objective_verdict import judge_objective
from instrument.tiny import tiny_policy

CHECKS = {name: run for name, _, run in trl_checks.trl_checks()}
ROLLOUTS = [Rollout((3,), (4, 2), 1.0), Rollout((3,), (5, 2), -1.0)]


def run(rollouts=ROLLOUTS, **options):
    return run_async_grpo(tiny_policy(32), rollouts, **{"micro_batch": 2, **options})


@pytest.mark.parametrize(
    "rollouts",
    [
        [Rollout((), (4, 2), 1.0)] * 2,
        [Rollout((3,), (), 1.0), ROLLOUTS[0]],
        [ROLLOUTS[0], ROLLOUTS[0]],
        [Rollout((3,), (4,), 1.0), ROLLOUTS[0]],
    ],
)
def test_rollouts_that_cannot_be_told_apart_are_refused(rollouts):
    with pytest.raises(
        ValueError, match="rollouts need a prompt and a completion, none where another begins alike, got"
    ):
        run(rollouts)


@pytest.mark.parametrize("rollouts", [[], ROLLOUTS[:1]])
def test_rollouts_that_fill_no_step_are_refused(rollouts):
    with pytest.raises(ValueError, match=f"a step takes 2 rollouts, got {len(rollouts)}: give as many as fill all"):
        run(rollouts)


def test_an_id_that_the_policy_does_not_know_is_named():
    with pytest.raises(ValueError, match=r"the row \[3, 50\] holds the id 50, but the model knows 0 to 31"):
        run([ROLLOUTS[0], Rollout((3,), (50,), 1.0)])


def test_a_release_without_a_sample_to_hand_over_is_named(monkeypatch):
    monkeypatch.setattr(async_grpo, "SAMPLE", "nope")

    with pytest.raises(LookupError, match=r"^trl \d.*has no nope, to hand completions over"):
        run()


def test_a_policy_whose_hidden_states_get_no_gradient_is_named(monkeypatch):
    monkeypatch.setattr(experimental("async_grpo", "AsyncGRPO")[0], "train", lambda self: None)

    with pytest.raises(LookupError, match=r"^trl \d.*AsyncGRPOTrainer brings no gradient to last_hidden_state"):
        run()


def test_a_query_reads_its_own_piece_up_to_itself():
    torch.manual_seed(0)
    query, key, value = torch.randn(3, 5, 2, 4, dtype=torch.float64)
    # One piece of three whole, one of two queries behind all five keys.
    ends_q, ends_k = torch.tensor([0, 3, 5]), torch.tensor([0, 3, 8])
    kept = torch.tensor([0, 1, 2, 0, 1, 2, 3, 4])

    out = attention(query, key[kept], value[kept], ends_q, ends_k, 3, 5, softmax_scale=0.5)
    for n, seen in enumerate([1, 2, 3, 4, 5]):
        weight = torch.softmax(torch.einsum("hd,khd->hk", query[n], key[:seen]) * 0.5, 1)
        torch.testing.assert_close(out[n], torch.einsum("hk,khd->hd", weight, value[:seen]))


def test_another_attention_is_refused():
    with pytest.raises(NotImplementedError, match=r"emulated are causal attentions over the whole"):
        attention(*torch.zeros(3, 1, 1, 1), torch.tensor([0, 1]), torch.tensor([0, 1]), 1, 1, window_size=(3, 0))


def test_a_rollout_is_a_path_that_begins_no_other():
    inputs = {"tree_cu_seqlens_k": torch.tensor([0, 2, 5, 8]), "tree_kv_index": torch.tensor([0, 1, 0, 1, 2, 0, 1, 3])}

    assert [path.tolist() for path in paths(inputs)] == [[0, 1, 2], [0, 1, 3]]


def test_rows_share_what_they_say_alike_up_to_the_next_token():
    rows = [(3, 4, 5), (3, 4, 6), (7, 4, 5)]
    table, mask = np.array([[1.0, 2.0], [10.0, 20.0], [100.0, 200.0]]), np.array([[1, 1], [0, 1], [1, 1]])

    np.testing.assert_array_equal(shared(table, mask, rows), [[1, 2], [1, 20], [100, 200]])


def test_a_loss_that_is_off_by_a_hundredth_is_a_fault(monkeypatch):
    trainer = experimental("async_grpo", "AsyncGRPO")[0]
    original = trainer.compute_loss
    monkeypatch.setattr(trainer, "compute_loss", lambda *args, **options: 1.01 * original(*args, **options))

    assert judge_objective(CHECKS["Async GRPO"](), [])[1] == "FAULT"


def test_a_gradient_of_another_token_is_a_fault(monkeypatch):
    trainer = experimental("async_grpo", "AsyncGRPO")[0]
    original = trainer.compute_loss

    def compute_loss(self, model, inputs, *args, **options):
        labels = inputs["shift_labels"]
        return original(self, model, {**inputs, "shift_labels": torch.where(labels < 0, labels, 5)}, *args, **options)

    monkeypatch.setattr(trainer, "compute_loss", compute_loss)
    measured, status, _ = judge_objective(CHECKS["Async GRPO"](), [])
    assert status == "FAULT" and "the gradient is that of no token" in measured
