"""TRL's real RLOOTrainer, driven on given completions and rewards."""

import inspect
from collections.abc import Sequence
from importlib.metadata import version
from typing import Any

from trl import RLOOConfig, RLOOTrainer

from ..objective_record import Driven
from .generation import CHANGE as GENERATED
from .groups import CHANGES as COMMON
from .groups import Answers, Group, run_on
from .scored import Snapshots, words

SEAM = "_generate_single_turn"
CHANGES = {**COMMON, SEAM: "replaced on the instance: hands over the given completions, nothing is generated"}


def run_rloo(
    model: Any, groups: Sequence[Group], *, reference: Any = None, peft: Any = None, micro_batch: int, **arguments: Any
) -> Driven:
    """Train for one epoch; arguments, result and errors as for ``run_grpo``, beta being 0.05 when it is left out."""
    if "reward_funcs" not in inspect.signature(RLOOTrainer.__init__).parameters:
        raise LookupError(f"trl {version('trl')}: RLOOTrainer takes no reward_funcs, through which rewards are given")
    # Releases before 0.26 hand over texts there, and generate by themselves.
    by_turn = "prompt_ids" in inspect.signature(getattr(RLOOTrainer, SEAM, run_on)).parameters

    def make(answers: Answers, snapshots: Snapshots, **given: Any) -> RLOOTrainer:
        trainer = RLOOTrainer(**given)
        if not by_turn:
            answers.generate_by(trainer, snapshots)
            return trainer

        def generate(prompt_ids: list[list[int]], *_: Any) -> list[list[int]]:
            numbers = answers.next([words(ids) for ids in prompt_ids])
            snapshots.generated(trainer.model, numbers)
            return [list(answers.rows[number][1]) for number in numbers]

        setattr(trainer, SEAM, generate)
        return trainer

    driven = run_on(
        make,
        RLOOConfig,
        model,
        groups,
        reference=reference,
        beta=arguments.get("beta", 0.05),
        peft=peft,
        micro_batch=micro_batch,
        arguments=arguments,
    )
    driven.record.changes.update(CHANGES if by_turn else {**COMMON, **GENERATED})
    return driven
