"""trl.experimental's real SDPOTrainer, driven on given completions and rewards: its own successes teach a student."""

import copy
import tempfile
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from datasets import Dataset
from numpy.typing import NDArray

from ..objective_record import Driven, Taught
from ..probe import EOS
from .generation import CHANGE, generating
from .groups import CHANGES as COMMON
from .groups import Answers, Group, read_size, scripted
from .installed import Installed
from .reference_free import experimental
from .refused import per_generation
from .scored import (
    Asked,
    Script,
    Snapshots,
    asked_behind,
    drive,
    keep_as_reference,
    looked_up,
    peft_config_of,
    settings,
    tokenizer_of_words,
    words,
)
from .sdft import Teacher, teacher_of
from .taught import Lesson, teach

CHANGES = {
    **{name: change for name, change in COMMON.items() if name != "reference"},
    **CHANGE,
    "teacher": "loaded by TRL from the path in the model's config: the student as it was",
    "reprompt_template": "the prompt and a completion that succeeded, and no words between",
}


def run_sdpo(
    model: Any, groups: Sequence[Group], *, peft: Any = None, micro_batch: int, **arguments: Any
) -> tuple[Driven, list[bool]]:
    """Train for one epoch.

    Args:
        model: the student; the teacher is what teacher_model_kind makes of it.
        groups: the prompts, no row twice, with as many completions each.
        peft: configuration of an adapter.
        micro_batch: completions per backward.
        arguments: further SDPOConfig, over the ones in CHANGES.

    Returns:
        The run, whose reference is the teacher behind its own prompt, and [number] whether the completion is taught.

    Raises:
        ValueError: groups or rewards that do not fit, a completion that generation would not end, or what SDPOConfig
            refuses.
        LookupError: what is installed has no such trainer.
    """
    with tempfile.TemporaryDirectory() as folder, Installed():
        made = built(model, groups, peft, micro_batch, arguments, folder)
        answers, script, shown, first = made.answers, made.script, made.shown, made.first

        def judged(rows: list[NDArray[np.int64]], window: int) -> Asked:
            numbers = [number for number, _ in looked_up(rows, script)]
            completions = [answers.rows[number][1] for number in numbers]
            contexts = [(*answers.rows[number][0], *shown[number]) for number in numbers]
            return asked_behind(first, made.teacher.at(window), contexts, rows, completions)

        driven = drive(made.trainer, script, made.snapshots, first, judged)
    driven.record.changes.update(CHANGES)
    return driven, [len(ids) > 0 for ids in shown]


def run_sdpo_words(
    model: Any, groups: Sequence[Group], *, peft: Any = None, micro_batch: int, **arguments: Any
) -> tuple[list[list[Taught]], list[bool], dict[str, str]]:
    """As ``run_sdpo``, for a divergence over all words or few, with distillation_weight=1.

    Returns:
        [window][micro-batch], [number] whether the completion is taught, and the changes from the defaults.
    """
    with tempfile.TemporaryDirectory() as folder, Installed():
        made = built(model, groups, peft, micro_batch, arguments, folder)
        script = {
            (*prompt, *completion): Lesson(number, len(prompt), (*prompt, *made.shown[number]))
            for number, (prompt, completion, *_) in enumerate(made.answers.rows)
        }
        windows = teach(made.trainer, made.first, script, made.snapshots, made.teacher.at)
    return windows, [len(ids) > 0 for ids in made.shown], dict(CHANGES)


class Built(NamedTuple):
    """A trainer that is ready; shown: [number] ids as of ``demonstrations``; first: the student as it was."""

    trainer: Any
    answers: Answers
    script: Script
    snapshots: Snapshots
    shown: list[list[int]]
    first: Any
    teacher: Teacher


def built(
    model: Any, groups: Sequence[Group], peft: Any, micro_batch: int, arguments: dict[str, Any], folder: str
) -> Built:
    """The trainer, which saves to a folder."""
    trainer, config = experimental("sdpo", "SDPO")
    script, size = scripted(groups, False), read_size(groups, per_generation(micro_batch, arguments))
    answers, snapshots, first = Answers(groups), Snapshots(), copy.deepcopy(model)
    given = {tuple(group.prompt): group.completions for group in groups}
    keep_as_reference(model, first, folder)
    made = trainer(
        model=model,
        reward_funcs=answers.rewards(),
        args=settings(
            config,
            folder,
            per_device_train_batch_size=micro_batch,
            num_generations=size,
            shuffle_dataset=False,
            reprompt_template="{prompt}{solution}{feedback}",
            solution_template=" {successful_previous_attempt}",
            **arguments,
        ),
        train_dataset=Dataset.from_list([{"prompt": words(group.prompt)} for group in groups]),
        processing_class=tokenizer_of_words(model.config.vocab_size, "left"),
        **peft_config_of(peft),
    )
    made.model.generate = generating(
        given, lambda rows: snapshots.generated(made.model, [script[row][0] for row in rows])
    )
    shown = demonstrations(answers, size, made.args)
    return Built(made, answers, script, snapshots, shown, *teacher_of(made, snapshots, first))


def demonstrations(answers: Answers, size: int, args: Any) -> list[list[int]]:
    """[number] ids of the first completion of its group that succeeds, its own left out unless told otherwise."""
    found = []
    for number in range(len(answers.rows)):
        group = range(number // size * size, number // size * size + size)
        reached = [
            other
            for other in group
            if sum(r or 0.0 for r in answers.rows[other][2]) >= args.success_reward_threshold
            and not (args.dont_reprompt_on_self_success and other == number)
        ]
        found.append([i for i in answers.rows[reached[0]][1] if i != EOS] if reached else [])
    return found
