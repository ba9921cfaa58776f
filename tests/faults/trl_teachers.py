"""Named runs of DistillationTrainer and RewardTrainer, which are read in units of their own, in which faults show."""

from types import SimpleNamespace

import torch

from instrument.loops.distillation import run_distillation
from instrument.loops.reward import run_reward
from instrument.objective_distilled import shares
from instrument.tiny import tiny_policy, tiny_reward
from instrument.trl_rows import VOCABULARY

ANSWERS = [((3, 4), (5, 6, 7, 8)), ((9,), (10, 11)), ((12, 13), (14, 15, 16)), ((17,), (18, 19, 20, 21, 22))]
PAIRS = [((3, 4, 5, 6), (3, 7, 8)), ((9, 10, 11), (9, 12, 13, 14, 15)), ((16, 17, 18), (16, 19, 20))]


def rows_of(windows):
    """Windows of rows [m][b] of weights [n], in the shape of a report."""
    rows = [[SimpleNamespace(weight=row) for batch in window for row in batch] for window in windows]
    return SimpleNamespace(
        windows=[SimpleNamespace(carried=[], by_micro_batch=lambda found=found: found) for found in rows]
    )


def trl_distillation():
    """One window of two micro-batches under the reverse divergence; a weight is the share of its own gradient."""
    taught, _ = run_distillation(
        tiny_policy(VOCABULARY),
        tiny_policy(VOCABULARY, 1),
        ANSWERS,
        micro_batch=2,
        gradient_accumulation_steps=2,
        beta=1.0,
    )
    windows = shares(taught, 1.0, 1.0)
    masks = [[[list(row) for row in batch.mask] for batch in window] for window in windows]
    told = [{"masks": rows, "vocabulary": VOCABULARY} for rows in masks]
    return rows_of([[list(batch.weight) for batch in window] for window in windows]), told


def trl_reward():
    """One window of three micro-batches of a pair each."""
    model = tiny_reward(VOCABULARY)
    rewards = rewards_of(model)
    windows, _ = run_reward(model, PAIRS, micro_batch=1, gradient_accumulation_steps=3, learning_rate=0.0)
    return rewarded(windows, rewards)


def trl_reward_margins():
    """One window of one micro-batch of three pairs, each with a margin of its own."""
    model, margins = tiny_reward(VOCABULARY), (0.5, -1.0, 2.0)
    rewards = rewards_of(model)
    windows, _ = run_reward(model, PAIRS, margins=margins, micro_batch=3, learning_rate=0.0)
    read, told = rewarded(windows, rewards)
    for each, window in zip(told, windows):
        each["margins"] = [[margins[n // 2] for n in batch.numbers if n % 2 == 0] for batch in window]
    return read, told


def rewards_of(model):
    """Row -> reward as it would be read at each of its tokens."""
    with torch.no_grad():
        return {
            ids: model.score(model.model(torch.tensor([ids]))[0])[0, :, 0].tolist() for pair in PAIRS for ids in pair
        }


def rewarded(windows, rewards):
    """What was read of each row, and the rewards of all rows."""
    told, read = [], []
    for window in windows:
        rows = [[PAIRS[n // 2][n % 2] for n in batch.numbers] for batch in window]
        told.append({"rewards": [[rewards[ids] for ids in batch] for batch in rows]})
        read.append([[w[: len(ids)] for w, ids in zip(batch.weight, found)] for batch, found in zip(window, rows)])
    return rows_of(read), told


TAUGHT = (trl_distillation, trl_reward, trl_reward_margins)
