"""TRL's real RLOOTrainer, driven on given completions and rewards."""

from collections.abc import Sequence
from importlib.metadata import version
from typing import Any

from trl import RLOOConfig, RLOOTrainer

from ..objective_record import Driven
from .groups import CHANGES as COMMON
from .groups import Answers, Group, run_on
from .scored import Snapshots, words

SEAM = "_generate_single_turn"
CHANGES = {**COMMON, SEAM: "replaced on the instance: hands over the given completions, nothing is generated"}


def run_rloo(
    model: Any, groups: Sequence[Group], *, reference: Any = None, peft: Any = None, micro_batch: int, **arguments: Any
) -> Driven:
    """Train for one epoch; arguments, result and errors as for ``run_grpo``, beta being 0.05 when it is left out."""
    if not hasattr(RLOOTrainer, SEAM):
        raise LookupError(f"trl {version('trl')}: RLOOTrainer has no {SEAM}, through which completions are handed over")

    def make(answers: Answers, snapshots: Snapshots, **given: Any) -> RLOOTrainer:
        trainer = RLOOTrainer(**given)

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
    driven.record.changes.update(CHANGES)
    return driven
