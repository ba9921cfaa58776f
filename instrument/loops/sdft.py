"""trl.experimental's real SDFTTrainer, driven on given completions of a student whose teacher reads more."""

import copy
import tempfile
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from datasets import Dataset
from numpy.typing import NDArray

from ..objective_record import Driven, Taught
from .generation import generating
from .gkd import CHANGES as COMMON
from .installed import Installed
from .reference_free import experimental
from .refused import per_generation, refuse_part_of_generation
from .scored import (
    Asked,
    Parameters,
    Snapshots,
    asked_behind,
    drive,
    keep_as_reference,
    looked_up,
    peft_config_of,
    settings,
    tokenizer_of_words,
    trained,
    words,
)
from .taught import Lessons, lessons, teach

CHANGES = {
    **COMMON,
    "teacher": "loaded by TRL from the path in the model's config: the student as it was",
    "teacher_prompt_template": "the prompt and what the teacher alone reads, and no words between",
}
Told = tuple[Sequence[int], Sequence[int], Sequence[int]]


def run_sdft(
    model: Any, told: Sequence[Told], *, peft: Any = None, micro_batch: int, **arguments: Any
) -> tuple[list[list[Taught]], dict[str, str]]:
    """Train for one epoch.

    Args:
        model: the student; the teacher is what teacher_model_kind makes of it.
        told: prompt, what the teacher alone reads, and completion ids; no prompt twice.
        peft: configuration of an adapter.
        micro_batch: completions per backward.
        arguments: further SDFTConfig, over the ones in CHANGES.

    Returns:
        [window][micro-batch], and the changes from the defaults.

    Raises:
        ValueError: a row without a token, a prompt twice, a completion that generation would not end, or what
            SDFTConfig refuses.
        LookupError: what is installed has no such trainer.
    """
    with tempfile.TemporaryDirectory() as folder, Installed():
        made = built(model, told, peft, micro_batch, arguments, folder)
        windows = teach(made.trainer, made.first, made.script, made.snapshots, made.teacher.at)
    return windows, dict(CHANGES)


def run_sdft_sampled(
    model: Any, told: Sequence[Told], *, peft: Any = None, micro_batch: int, **arguments: Any
) -> Driven:
    """As ``run_sdft``, comparing the sampled tokens alone: distillation_mode="sampled_token", distillation_alpha=1.

    Returns:
        The run, whose reference is the teacher behind what it reads.
    """
    with tempfile.TemporaryDirectory() as folder, Installed():
        own = {"distillation_mode": "sampled_token", "distillation_alpha": 1.0, **arguments}
        made = built(model, told, peft, micro_batch, own, folder)

        def judged(rows: list[NDArray[np.int64]], window: int) -> Asked:
            found = looked_up(rows, made.script)
            completions = [row[lesson.start :].tolist() for row, lesson in zip(rows, found)]
            contexts = [lesson.context or () for lesson in found]
            return asked_behind(made.first, made.teacher.at(window), contexts, rows, completions)

        marks = {
            row: (lesson.number, [t >= lesson.start for t in range(1, len(row))]) for row, lesson in made.script.items()
        }
        driven = drive(made.trainer, marks, made.snapshots, made.first, judged)
    driven.record.changes.update(CHANGES)
    return driven


class Built(NamedTuple):
    """A trainer that is ready; first: the student as it was."""

    trainer: Any
    script: Lessons
    snapshots: Snapshots
    first: Any
    teacher: "Teacher"


def built(
    model: Any, told: Sequence[Told], peft: Any, micro_batch: int, arguments: dict[str, Any], folder: str
) -> Built:
    """The trainer, which saves to a folder."""
    refuse_part_of_generation(len(told) * arguments.get("num_generations", 1), per_generation(micro_batch, arguments))
    trainer, config = experimental("sdft", "SDFT")
    script = lessons([(p, c) for p, _, c in told], [(*p, *more) for p, more, _ in told])
    snapshots, first = Snapshots(), copy.deepcopy(model)
    keep_as_reference(model, first, folder)
    made = trainer(
        model=model,
        args=settings(
            config,
            folder,
            per_device_train_batch_size=micro_batch,
            shuffle_dataset=False,
            teacher_prompt_template="{prompt} {privileged_context}",
            **{"num_generations": 1, **arguments},
        ),
        train_dataset=Dataset.from_list(
            [{"prompt": words(p), "privileged_context": words(more)} for p, more, _ in told]
        ),
        processing_class=tokenizer_of_words(model.config.vocab_size, "left"),
        **peft_config_of(peft),
    )
    made.model.generate = generating(
        {tuple(p): [c] for p, _, c in told},
        lambda rows: snapshots.generated(made.model, [script[row].number for row in rows]),
    )
    return Built(made, script, snapshots, *teacher_of(made, snapshots, first))


def teacher_of(made: Any, snapshots: Snapshots, first: Any) -> tuple[Any, "Teacher"]:
    """The model that a trainer's teacher is asked by, with what its parameters are.

    Under an adapter the teacher is the student's own model, with an adapter that begins at 0 and so writes nothing.
    """
    if not hasattr(made.model, "peft_config"):
        return first, Teacher(made.args, snapshots, {name: p.detach().clone() for name, p in first.named_parameters()})
    nothing = {name: torch.zeros_like(p) for name, p in trained(made.model).items()}
    return copy.deepcopy(made.model), Teacher(made.args, snapshots, nothing)


class Teacher:
    """What teacher_model_kind makes of a student, from the parameters that the student had in each window.

    base   the first;   live   those of the window;   ema   t <- (1 - rate) t + rate s behind every sync_steps steps
    """

    def __init__(self, args: Any, snapshots: Snapshots, first: Parameters) -> None:
        self.args, self.snapshots, self.first = args, snapshots, first

    def at(self, window: int) -> Parameters:
        """Parameters of the teacher in a window."""
        if self.args.teacher_model_kind == "base":
            return self.first
        if self.args.teacher_model_kind == "live":
            return self.snapshots.windows[window]
        mean, rate = self.first, self.args.teacher_update_rate
        for step in range(1, window + 1):
            if step % self.args.teacher_sync_steps == 0:
                now = self.snapshots.windows[step]
                mean = {name: (1 - rate) * p + rate * now[name] for name, p in mean.items()}
        return mean
