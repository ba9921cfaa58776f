"""Named runs of TRL's real trainers in which faults of their losses show."""

import numpy as np

from closed_forms import advantages, unpaired
from instrument.loops.dpo import run_dpo
from instrument.loops.groups import Group
from instrument.loops.grpo import run_grpo
from instrument.loops.kto import run_kto
from instrument.report.report import Report
from instrument.tiny import near, tiny_policy
from instrument.trl_rows import ANSWERS, PAIRS, VOCABULARY

GROUPS = [
    Group((3,), [(4, 5, 2), (6, 7, 8, 9)], [[1.0], [0.0]]),
    Group((10,), [(11, 2), (12, 13, 14, 2)], [[3.0], [0.5]]),
]


def ragged(driven, window, batches):
    """[m][b][n] marks, each row as long as it was measured."""
    rows = iter(driven.record.windows[window].by_micro_batch())
    return [[mask[: next(rows).weight.size] for mask in batch.mask] for batch in batches]


def log_ratios(batch):
    """[b] sum over the scored tokens of log pi - log pi_ref."""
    return ((batch.policy - batch.reference) * batch.mask).sum(1)


def trl_dpo():
    """Two windows of two micro-batches of pairs under the robust loss."""
    model = tiny_policy(VOCABULARY)
    options = {"loss_type": ["robust"], "beta": 0.5, "label_smoothing": 0.25, "learning_rate": 0.1}
    driven = run_dpo(model, PAIRS[:4], reference=near(model), micro_batch=1, gradient_accumulation_steps=2, **options)
    told = []
    for w, window in enumerate(driven.windows):
        ratios = [log_ratios(batch) for batch in window]
        scores = [(u[: len(u) // 2], u[len(u) // 2 :]) for u in ratios]
        told.append({"masks": ragged(driven, w, window), "scores": scores, "beta": 0.5, "epsilon": 0.25})
    return Report(driven.record), told


def trl_kto():
    """Two windows of two micro-batches, the desirable completions counted twice, the others one and a half times."""
    model = tiny_policy(VOCABULARY)
    driven, mixed = run_kto(
        model,
        ANSWERS,
        reference=near(model),
        micro_batch=2,
        gradient_accumulation_steps=2,
        beta=0.5,
        desirable_weight=2.0,
        undesirable_weight=1.5,
    )
    told = []
    for w, (window, others) in enumerate(zip(driven.windows, mixed)):
        told.append(
            {
                "masks": ragged(driven, w, window),
                "ratios": [log_ratios(batch) for batch in window],
                "desirable": [[ANSWERS[number][2] for number in batch.numbers] for batch in window],
                "baselines": [unpaired.kto_baseline(log_ratios(other)) for other in others],
                "beta": 0.5,
                "gain": 2.0,
                "loss": 1.5,
            }
        )
    return Report(driven.record), told


def trl_grpo():
    """One window of two micro-batches under dapo, one of four completions truncated and masked, scaled by the batch."""
    driven = run_grpo(
        tiny_policy(VOCABULARY),
        GROUPS,
        micro_batch=2,
        gradient_accumulation_steps=2,
        scale_rewards="batch",
        mask_truncated_completions=True,
    )
    rewards = [reward for group in GROUPS for reward in group.rewards]
    told = []
    for w, window in enumerate(driven.windows):
        by_batch, by_group = (
            [np.where(b.numbers < 0, 0.0, scaled[b.numbers]) for b in window]
            for scaled in (advantages.sum_then_normalize(rewards, [1.0], 2, scale) for scale in ("batch", "group"))
        )
        told.append(
            {
                "masks": ragged(driven, w, window),
                "advantage": by_batch,
                "group_advantage": by_group,
                "generated": sum(len(ids) for group in GROUPS for ids in group.completions),
            }
        )
    return Report(driven.record), told


OBJECTIVES = (trl_dpo, trl_kto, trl_grpo)
