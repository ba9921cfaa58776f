"""TRL's real RLOOTrainer, driven on given completions and rewards."""

import tempfile
from collections.abc import Sequence
from importlib.metadata import version
from typing import Any

from datasets import Dataset
from trl import RLOOConfig, RLOOTrainer

from ..objective_record import Driven
from .grpo import Answers, Group, read_size, scripted
from .scored import CHANGES as COMMON
from .scored import OldNames, Snapshots, drive, keep_as_reference, settings, tokenizer_of_words, words

CHANGES = {
    **COMMON,
    "shuffle_dataset": "False",
    "_generate_single_turn": "replaced on the instance: hands over the given completions, nothing is generated",
    "reward_funcs": "look the given rewards up",
    "reference": "loaded by TRL from the path in the model's config, as given",
}


def run_rloo(
    model: Any, groups: Sequence[Group], *, reference: Any = None, peft: Any = None, micro_batch: int, **arguments: Any
) -> Driven:
    """Train for one epoch; arguments, result and errors as for ``run_grpo``, beta being 0.05 when it is left out."""
    seam = "_generate_single_turn"
    if not hasattr(RLOOTrainer, seam):
        raise LookupError(f"trl {version('trl')}: RLOOTrainer has no {seam}, through which completions are handed over")
    script = scripted(groups, bool(arguments.get("mask_truncated_completions", False)))
    steps = arguments.get("steps_per_generation", arguments.get("gradient_accumulation_steps", 1))
    size = read_size(groups, micro_batch * steps)
    snapshots, answers = Snapshots(), Answers(groups)
    with tempfile.TemporaryDirectory() as folder, OldNames():
        if reference is not None or arguments.get("beta", 0.05):
            keep_as_reference(model, reference, folder)
        trainer = RLOOTrainer(
            model=model,
            args=settings(
                RLOOConfig,
                folder,
                per_device_train_batch_size=micro_batch,
                num_generations=size,
                shuffle_dataset=False,
                **arguments,
            ),
            train_dataset=Dataset.from_list([{"prompt": words(group.prompt)} for group in groups]),
            processing_class=tokenizer_of_words(model.config.vocab_size, "left"),
            reward_funcs=answers.rewards(),
            peft_config=peft,
        )

        def generate(prompt_ids: list[list[int]], *_: Any) -> list[list[int]]:
            numbers = answers.next([words(ids) for ids in prompt_ids])
            snapshots.generated(trainer.model, numbers)
            return [list(answers.rows[number][1]) for number in numbers]

        trainer._generate_single_turn = generate
        driven = drive(trainer, script, snapshots, reference)
    driven.record.changes.update(CHANGES)
    return driven
