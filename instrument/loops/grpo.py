"""TRL's real GRPOTrainer, driven on given completions and rewards."""

import inspect
import os
from collections.abc import Sequence
from importlib.metadata import version
from typing import Any

from trl import GRPOConfig, GRPOTrainer

from ..objective_record import Driven
from .generation import CHANGE as GENERATED
from .groups import CHANGES as COMMON
from .groups import Answers, Group, run_on
from .installed import Installed
from .moving import Moves
from .scored import Snapshots

CHANGES = {**COMMON, "rollout_func": "hands over the given completions, nothing is generated"}


def run_grpo(
    model: Any,
    groups: Sequence[Group],
    *,
    reference: Any = None,
    moves: Moves | None = None,
    peft: Any = None,
    micro_batch: int,
    **arguments: Any,
) -> Driven:
    """Train for one epoch.

    Args:
        model: the policy.
        groups: the prompts, no row twice, with as many completions each.
        reference: the reference model; needed when beta is not 0. With an adapter, a copy of the policy from before.
        moves: how the reference follows the policy, where sync_ref_model asks it to.
        peft: configuration of an adapter.
        micro_batch: completions per backward.
        arguments: further GRPOConfig, over the ones in CHANGES.

    Returns:
        The run; completions are numbered group by group.

    Raises:
        ValueError: groups or rewards that do not fit, no reference though beta is not 0, or what GRPOConfig refuses.
        LookupError: the installed release does not know one of the arguments, or no tools.
    """
    return run_like_grpo(
        GRPOTrainer,
        GRPOConfig,
        model,
        groups,
        reference=reference,
        moves=moves,
        peft=peft,
        micro_batch=micro_batch,
        **arguments,
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
    moves: Moves | None = None,
    peft: Any,
    micro_batch: int,
    **arguments: Any,
) -> Driven:
    """As ``run_grpo``, with a trainer that inherits from GRPOTrainer, and the class of its arguments."""
    with Installed():
        rolls = "rollout_func" in inspect.signature(GRPOTrainer.__init__).parameters
        # 0.26 asks it behind vLLM only.
        rolls = rolls and "self.rollout_func" not in inspect.getsource(GRPOTrainer._generate_single_turn)
    # TRL says that its rollout_func is experimental.
    os.environ["TRL_EXPERIMENTAL_SILENCE"] = "1"
    masked = any(group.written is not None for group in groups)
    if masked and rolls and "env_mask" not in inspect.getsource(GRPOTrainer):
        raise LookupError(f"trl {version('trl')}: GRPOTrainer is not told which tokens a tool wrote")

    def make(answers: Answers, snapshots: Snapshots, **given: Any) -> Any:
        def rollout(prompts: list[str], trainer: Any) -> dict[str, Any]:
            numbers = answers.next(prompts)
            snapshots.generated(trainer.model, numbers)
            rows = [answers.rows[number] for number in numbers]
            ids = {"prompt_ids": [list(row[0]) for row in rows], "completion_ids": [list(row[1]) for row in rows]}
            tools = {"env_mask": [[int(mark) for mark in row[3]] for row in rows]} if masked else {}
            return {**ids, "logprobs": None, **tools}

        if rolls:
            return kind(rollout_func=rollout, **given)
        trainer = kind(**given)
        if reference is not None and getattr(trainer, "ref_model", None) is not None:
            # These releases may have copied the policy, and loaded none.
            trainer.accelerator.unwrap_model(trainer.ref_model).load_state_dict(reference.state_dict())
        answers.generate_by(trainer, snapshots)
        return trainer

    driven = run_on(
        make,
        config,
        model,
        groups,
        reference=reference,
        moves=moves,
        beta=arguments.get("beta", 0.0),
        peft=peft,
        micro_batch=micro_batch,
        arguments=as_older(config, arguments),
    )
    driven.record.changes.update(CHANGES if rolls else {**COMMON, **GENERATED})
    return driven


def as_older(config: Any, arguments: dict[str, Any]) -> dict[str, Any]:
    """The arguments as a release of TRL takes them.

    Those before 0.22 scale rewards or do not; those before 0.18 generate anew for each optimizer step.

    Raises:
        LookupError: the release does not do what they ask for.
    """
    given, steps = dict(arguments), arguments.get("steps_per_generation")
    if isinstance(getattr(config, "scale_rewards", None), bool) and "scale_rewards" in given:
        scaled = {"group": True, "none": False}
        if given["scale_rewards"] not in scaled:
            raise LookupError(f"trl {version('trl')} cannot scale rewards by {given['scale_rewards']!r}")
        given["scale_rewards"] = scaled[given["scale_rewards"]]
    if "steps_per_generation" not in config.__dataclass_fields__ and steps == given.get("gradient_accumulation_steps"):
        given.pop("steps_per_generation", None)
    return given
