"""TRL's real GRPOTrainer, driven on given completions and rewards."""

import inspect
import os
from collections.abc import Sequence
from importlib.metadata import version
from typing import Any

from trl import GRPOConfig, GRPOTrainer

from ..objective_record import Driven
from .groups import CHANGES as COMMON
from .groups import Answers, Group, run_on
from .scored import Snapshots

CHANGES = {**COMMON, "rollout_func": "hands over the given completions, nothing is generated"}


def run_grpo(
    model: Any, groups: Sequence[Group], *, reference: Any = None, peft: Any = None, micro_batch: int, **arguments: Any
) -> Driven:
    """Train for one epoch.

    Args:
        model: the policy.
        groups: the prompts, no row twice, with as many completions each.
        reference: the reference model; needed when beta is not 0. With an adapter, a copy of the policy from before.
        peft: configuration of an adapter.
        micro_batch: completions per backward.
        arguments: further GRPOConfig, over the ones in CHANGES.

    Returns:
        The run; completions are numbered group by group.

    Raises:
        ValueError: groups or rewards that do not fit, no reference though beta is not 0, or what GRPOConfig refuses.
        LookupError: the installed trainer has no such seam.
    """
    return run_like_grpo(
        GRPOTrainer, GRPOConfig, model, groups, reference=reference, peft=peft, micro_batch=micro_batch, **arguments
    )


def run_gmpo(
    model: Any, groups: Sequence[Group], *, reference: Any = None, peft: Any = None, micro_batch: int, **arguments: Any
) -> Driven:
    """As ``run_grpo``, with trl.experimental's GMPOTrainer."""
    os.environ["TRL_EXPERIMENTAL_SILENCE"] = "1"
    from trl.experimental.gmpo import GMPOConfig, GMPOTrainer

    return run_like_grpo(
        GMPOTrainer, GMPOConfig, model, groups, reference=reference, peft=peft, micro_batch=micro_batch, **arguments
    )


def run_like_grpo(
    kind: Any,
    config: Any,
    model: Any,
    groups: Sequence[Group],
    *,
    reference: Any,
    peft: Any,
    micro_batch: int,
    **arguments: Any,
) -> Driven:
    """As ``run_grpo``, with a trainer that inherits from GRPOTrainer, and the class of its arguments."""
    if "rollout_func" not in inspect.signature(GRPOTrainer.__init__).parameters:
        raise LookupError(
            f"trl {version('trl')}: GRPOTrainer takes no rollout_func, through which completions are handed over"
        )
    # TRL says that its rollout_func is experimental.
    os.environ["TRL_EXPERIMENTAL_SILENCE"] = "1"
    masked = any(group.written is not None for group in groups)

    def make(answers: Answers, snapshots: Snapshots, **given: Any) -> Any:
        def rollout(prompts: list[str], trainer: Any) -> dict[str, Any]:
            numbers = answers.next(prompts)
            snapshots.generated(trainer.model, numbers)
            rows = [answers.rows[number] for number in numbers]
            ids = {"prompt_ids": [list(row[0]) for row in rows], "completion_ids": [list(row[1]) for row in rows]}
            tools = {"env_mask": [[int(mark) for mark in row[3]] for row in rows]} if masked else {}
            return {**ids, "logprobs": None, **tools}

        return kind(rollout_func=rollout, **given)

    driven = run_on(
        make,
        config,
        model,
        groups,
        reference=reference,
        beta=arguments.get("beta", 0.0),
        peft=peft,
        micro_batch=micro_batch,
        arguments=arguments,
    )
    driven.record.changes.update(CHANGES)
    return driven
