"""Named runs of students and reward models, which are read in units of their own, in which faults show."""

from types import SimpleNamespace

import torch

from closed_forms.served_rows import Row
from closed_forms.spelled_rows import Known, Side
from instrument.loops.async_distillation import run_async_distillation
from instrument.loops.distillation import run_distillation
from instrument.loops.gold_across import run_gold_across, tokenizer_of_letters
from instrument.loops.iw_opd import run_iw_opd
from instrument.loops.reward import run_reward
from instrument.loops.server_distillation import run_server_distillation
from instrument.objective_distilled import Served, projected, shares
from instrument.objective_universal import Across, push
from instrument.report.report import Report
from instrument.tiny import tiny_policy, tiny_reward
from instrument.trl_across import MERGES, TEXTS, with_pairs
from instrument.trl_rows import VOCABULARY
from tests.faults.trl_rollouts import masks_of, ragged

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


def trl_gold_across():
    """One window of one micro-batch of GOLD across tokenizers, merged at the last token of a group."""
    words = [tokenizer_of_letters(side).get_vocab() for side in MERGES]
    taught, spelled, _ = run_gold_across(
        tiny_policy(len(words[0])),
        tiny_policy(len(words[1]), 1),
        MERGES,
        TEXTS,
        micro_batch=len(TEXTS),
        uld_token_merge_strategy="bayesian",
        uld_use_hybrid_loss=True,
        beta=0.25,
    )
    across = with_pairs(Across("bayesian", pairs=(), beta=0.25), *words)
    known = Known(across.pairs, across.beta, across.weights)
    read, told = [], []
    for (batch,) in taught:
        rows = [(z, q, *spelled[n]) for n, z, q in zip(batch.numbers, batch.student, batch.teacher)]
        units = [push(*row, across)[0] / len(rows) for row in rows]
        read.append([[projected(pull, unit, batch.head, 1.0)[0] for pull, unit in zip(batch.pull, units)]])
        sides = [(Side(z, **vars(own)), Side(q, **vars(other))) for z, q, own, other in rows]
        told.append({"rows": sides, "head": batch.head, "known": known})
    return rows_of(read), told


def trl_server_distillation():
    """One window of one micro-batch of forward divergences over three words and one bucket, at temperature 2."""
    taught, _ = run_server_distillation(
        tiny_policy(VOCABULARY),
        tiny_policy(VOCABULARY, 1),
        ANSWERS,
        micro_batch=4,
        beta=0.0,
        loss_top_k=3,
        temperature=2.0,
    )
    (window,) = shares(taught, 0.0, 2.0, Served(3))
    rows = [Row(z, q, mask) for (batch,) in taught for z, q, mask in zip(batch.student, batch.teacher, batch.marks)]
    weights = [[w[: row.mask.size] for w, row in zip(window[0].weight, rows)]]
    return rows_of([weights]), [{"rows": rows, "head": taught[0][0].head, "words": 3, "temperature": 2.0}]


def trl_async_distillation():
    """One window of two micro-batches that were scored before; a weight is the share of its own gradient."""
    options = {"micro_batch": 2, "gradient_accumulation_steps": 2, "beta": 0.0}
    taught, _ = run_async_distillation(tiny_policy(VOCABULARY), tiny_policy(VOCABULARY, 1), ANSWERS, **options)
    windows = shares(taught, 0.0, 1.0, Served(1, itself=True))
    masks = [[[list(row) for row in batch.mask] for batch in window] for window in windows]
    return rows_of([[list(batch.weight) for batch in window] for window in windows]), [{"masks": m} for m in masks]


def trl_iw_opd():
    """One window of one micro-batch of sampled tokens, of which the early ones count more."""
    answers = [(prompt, (*completion, 2)) for prompt, completion in ANSWERS]
    driven = run_iw_opd(tiny_policy(VOCABULARY), tiny_policy(VOCABULARY, 1), answers, micro_batch=4, iw_opd_gamma=0.5)
    told = [
        {
            "masks": masks,
            "policy": ragged(driven, w, [batch.policy for batch in driven.windows[w]]),
            "teacher": ragged(driven, w, [batch.reference for batch in driven.windows[w]]),
            "gamma": 0.5,
        }
        for w, masks in enumerate(masks_of(driven))
    ]
    return Report(driven.record), told


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


TAUGHT = (
    trl_distillation,
    trl_gold_across,
    trl_server_distillation,
    trl_async_distillation,
    trl_iw_opd,
    trl_reward,
    trl_reward_margins,
)
