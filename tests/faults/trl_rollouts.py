"""Named runs of GRPOTrainer and RLOOTrainer in which faults of their losses show."""

import numpy as np

from closed_forms import advantages
from instrument.loops.groups import Group
from instrument.loops.grpo import run_grpo
from instrument.loops.rloo import run_rloo
from instrument.report.report import Report
from instrument.tiny import near, tiny_policy
from instrument.trl_rows import VOCABULARY

GROUPS = [
    Group((3,), [(4, 5, 2), (6, 7, 8, 9)], [[1.0], [0.0]]),
    Group((10,), [(11, 2), (12, 13, 14, 2)], [[3.0], [0.5]]),
]


def ragged(driven, window, tables):
    """[m][b][n] of a table [m][b, t] of each micro-batch of a window, each row as long as it was measured."""
    rows = iter(driven.record.windows[window].by_micro_batch())
    return [[row[: next(rows).weight.size] for row in table] for table in tables]


def masks_of(driven):
    """[w][m][b][n] which tokens are scored."""
    return [ragged(driven, w, [batch.mask for batch in window]) for w, window in enumerate(driven.windows)]


def rewards_of(groups):
    """[i] the only reward of each completion."""
    return np.array([reward for group in groups for reward in group.rewards], dtype=float)


def told_of(driven, values, **constants):
    """[w] arguments: what is scored, of each completion the named values [i], 0 where it was masked, and constants."""
    masks = masks_of(driven)
    return [
        {
            "masks": masks[w],
            **{name: [np.where(b.numbers < 0, 0.0, v[b.numbers]) for b in window] for name, v in values.items()},
            **constants,
        }
        for w, window in enumerate(driven.windows)
    ]


def scaled(rewards, scale, weights=(1.0,), group=2):
    """[i] advantages of GRPO."""
    return advantages.sum_then_normalize(rewards, weights, group, scale)


def trl_grpo():
    """One window of two micro-batches under dapo, one of four completions truncated and masked, scaled by the batch."""
    options = {"scale_rewards": "batch", "mask_truncated_completions": True}
    driven = run_grpo(tiny_policy(VOCABULARY), GROUPS, micro_batch=2, gradient_accumulation_steps=2, **options)
    rewards = rewards_of(GROUPS)
    # Completion 0 of all prompts, then completion 1 of all, cut into groups; each advantage back at its own completion.
    crossed = scaled(rewards.reshape(-1, 2).T.reshape(-1, 1), "batch").reshape(2, -1).T.ravel()
    values = {
        "advantage": scaled(rewards, "batch"),
        "neighbours_advantage": crossed,
        "group_advantage": scaled(rewards, "group"),
        "shifted_advantage": scaled(np.roll(rewards, 1, axis=0), "batch"),
        "batch_advantage": scaled(rewards, "batch", group=rewards.size),
        "population_advantage": scaled(rewards, "none") / (rewards.std() + 1e-4),
    }
    lengths = [len(ids) for group in GROUPS for ids in group.completions]
    counts = {"generated": sum(lengths), "slots": len(lengths) * max(lengths)}
    return Report(driven.record), told_of(driven, values, **counts)


def trl_grpo_unscored():
    """One window under dapo; one of three completions got no reward, and rewards are not scaled."""
    groups = [Group((3,), [(4, 5, 2), (6, 2), (7, 8, 9, 2)], [[1.0], [None], [0.5]])]
    driven = run_grpo(tiny_policy(VOCABULARY), groups, micro_batch=3, scale_rewards="none")
    rewards = rewards_of(groups)
    values = {"advantage": scaled(rewards, "none", group=3)}
    values["zeroed_advantage"] = scaled(np.nan_to_num(rewards), "none", group=3)
    return Report(driven.record), told_of(driven, values)


def trl_grpo_slots():
    """One window of two micro-batches under dr_grpo, the rewards not scaled."""
    options = {"loss_type": "dr_grpo", "max_completion_length": 16, "scale_rewards": "none"}
    driven = run_grpo(tiny_policy(VOCABULARY), GROUPS, micro_batch=2, gradient_accumulation_steps=2, **options)
    rewards = rewards_of(GROUPS)
    values = {"advantage": scaled(rewards, "none"), "scaled_advantage": scaled(rewards, "group")}
    told = told_of(driven, values, longest=16)
    for known, window in zip(told, driven.windows):
        known["widths"] = [max(len(GROUPS[n // 2].completions[n % 2]) for n in batch.numbers) for batch in window]
    return Report(driven.record), told


def trl_grpo_tools():
    """One window of two micro-batches under dapo with the KL; a tool wrote the second token of each completion."""
    groups = [
        group._replace(written=[[t != 1 for t in range(len(ids))] for ids in group.completions]) for group in GROUPS
    ]
    model, options = tiny_policy(VOCABULARY), {"beta": 1.0, "scale_rewards": "none"}
    reference = near(model, by=0.5)
    driven = run_grpo(model, groups, reference=reference, micro_batch=2, gradient_accumulation_steps=2, **options)
    told = told_of(driven, {"advantage": scaled(rewards_of(GROUPS), "none")}, beta=1.0)
    for w, (known, window) in enumerate(zip(told, driven.windows)):
        known["drifts"] = ragged(driven, w, [batch.policy - batch.reference for batch in window])
        lengths = [
            [(len(GROUPS[n // 2].prompt), len(GROUPS[n // 2].completions[n % 2])) for n in b.numbers] for b in window
        ]
        known["completions"] = [[[False] * (p - 1) + [True] * c for p, c in rows] for rows in lengths]
    return Report(driven.record), told


def trl_grpo_stale():
    """Two windows from one generation under the loss type grpo; the second is off-policy, and some of it is clipped."""
    options = {"loss_type": "grpo", "epsilon": 0.1, "epsilon_high": 0.1, "num_iterations": 2, "learning_rate": 0.1}
    driven = run_grpo(tiny_policy(VOCABULARY), GROUPS, micro_batch=4, scale_rewards="none", **options)
    told = told_of(driven, {"advantage": scaled(rewards_of(GROUPS), "none")}, low=0.1, high=0.1)
    for w, (known, window) in enumerate(zip(told, driven.windows)):
        known["ratios"] = ragged(driven, w, [batch.policy - batch.old for batch in window])
    return Report(driven.record), told


def trl_cispo():
    """One window of two micro-batches under cispo with a cap of 1/2."""
    options = {"loss_type": "cispo", "epsilon_high": 0.5, "scale_rewards": "none"}
    driven = run_grpo(tiny_policy(VOCABULARY), GROUPS, micro_batch=2, gradient_accumulation_steps=2, **options)
    return Report(driven.record), told_of(driven, {"advantage": scaled(rewards_of(GROUPS), "none")}, cap=0.5)


def trl_rloo():
    """One window of two micro-batches of RLOO without a KL."""
    model = tiny_policy(VOCABULARY)
    driven = run_rloo(model, GROUPS, micro_batch=2, gradient_accumulation_steps=2, beta=0.0)
    plain, normalized = (advantages.leave_one_out(rewards_of(GROUPS), [1.0], 2, n) for n in (False, True))
    return Report(driven.record), told_of(driven, {"advantage": plain, "normalized_advantage": normalized})


ROLLOUTS = (trl_grpo, trl_grpo_unscored, trl_grpo_slots, trl_grpo_tools, trl_grpo_stale, trl_cispo, trl_rloo)
