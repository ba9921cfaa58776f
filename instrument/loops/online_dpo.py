"""trl.experimental's real OnlineDPOTrainer, driven on given pairs of completions and their rewards."""

import tempfile
from collections.abc import Sequence
from importlib.metadata import version
from typing import Any

from datasets import Dataset

from ..objective_record import Driven
from ..probe import PAD
from .generation import table
from .groups import CHANGES as COMMON
from .groups import Answers, Group, scripted
from .installed import Installed
from .reference_free import experimental
from .refused import refuse_missing
from .scored import Snapshots, drive, peft_config_of, settings, tokenizer_of_words, words

SEAM = "_generate"
CHANGES = {**COMMON, SEAM: "replaced on the instance: hands over the given completions, nothing is generated"}


def run_online_dpo(
    model: Any, groups: Sequence[Group], *, reference: Any, peft: Any = None, micro_batch: int, **arguments: Any
) -> Driven:
    """Train for one epoch.

    Args:
        model: the policy.
        groups: the prompts, no row twice, with two completions each.
        reference: the reference model. With an adapter, a copy of the policy from before.
        peft: configuration of an adapter.
        micro_batch: prompts per backward.
        arguments: further OnlineDPOConfig, over the ones in CHANGES.

    Returns:
        The run; the completions of group g are 2 g and 2 g + 1. A micro-batch holds all first ones above all second.

    Raises:
        ValueError: no reference, groups or rewards that do not fit, an unknown id or loss, or what OnlineDPOConfig
            refuses.
        LookupError: what is installed has no such trainer, or it has no such seam.
    """
    refuse_missing(reference, "reference")
    trainer, config = experimental("online_dpo", "OnlineDPO")
    if not hasattr(trainer, SEAM):
        raise LookupError(
            f"trl {version('trl')}: OnlineDPOTrainer has no {SEAM}, through which completions are handed over"
        )
    sizes = sorted({len(group.completions) for group in groups})
    if sizes != [2]:
        raise ValueError(f"OnlineDPO compares two completions, got groups of {sizes}: give two per prompt")
    told = [row for group in groups for row in group.rewards]
    if any(isinstance(row, Sequence) and (len(row) != 1 or row[0] is None) for row in told):
        raise ValueError(f"OnlineDPO asks one function for every reward, got {told!r}: give one number for each")
    script, snapshots, answers = scripted(groups, False), Snapshots(), Answers(groups)

    def generate(model: Any, prompts: list[str], images: Any = None) -> tuple[Any, ...]:
        firsts = answers.next(prompts)
        numbers = [*firsts, *(number + 1 for number in firsts)]
        rows = [answers.rows[number] for number in numbers]
        prompt, prompt_mask = table([row[0] for row in rows], left=True)
        completion, completion_mask = table([row[1] for row in rows], left=False)
        return prompt, prompt_mask, completion, completion_mask, None

    def reward(prompts: list[str], completion_ids: list[list[int]], **_: Any) -> list[float | None]:
        rows = [tuple(i for i in ids if i != PAD) for ids in completion_ids]
        return [answers.rows[answers.numbers[prompt, row]][2][0] for prompt, row in zip(prompts, rows)]

    with tempfile.TemporaryDirectory() as folder, Installed():
        built = trainer(
            model=model,
            ref_model=None if peft is not None else reference,
            reward_funcs=reward,
            args=settings(config, folder, per_device_train_batch_size=micro_batch, **arguments),
            train_dataset=Dataset.from_list([{"prompt": words(group.prompt)} for group in groups]),
            processing_class=tokenizer_of_words(model.config.vocab_size, "left"),
            **peft_config_of(peft),
        )
        setattr(built, SEAM, generate)
        driven = drive(built, script, snapshots, reference)
    driven.record.changes.update(CHANGES)
    return driven
