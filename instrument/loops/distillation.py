"""TRL's real DistillationTrainer, driven on given completions of a student."""

import tempfile
from collections.abc import Sequence
from importlib.metadata import version
from typing import Any

from datasets import Dataset
from trl import DistillationConfig, DistillationTrainer

from ..objective_record import Taught
from .groups import CHANGES as COMMON
from .installed import Installed
from .refused import per_generation, refuse_missing, refuse_part_of_generation
from .scored import Snapshots, peft_config_of, settings, tokenizer_of_words, words
from .taught import Answer, lessons, teach

SEAM = "_generate_single_turn"
CHANGES = {
    **{name: change for name, change in COMMON.items() if name not in ("reward_funcs", "reference")},
    SEAM: "replaced on the instance: hands over the given completions, nothing is generated",
}


def run_distillation(
    model: Any,
    teacher: Any,
    answers: Sequence[Answer],
    *,
    peft: Any = None,
    micro_batch: int,
    **arguments: Any,
) -> tuple[list[list[Taught]], dict[str, str]]:
    """Train for one epoch.

    Args:
        model, teacher: student and teacher, of one vocabulary.
        answers: prompt and completion ids; no prompt twice.
        peft: configuration of an adapter.
        micro_batch: completions per backward.
        arguments: further DistillationConfig, over the ones in CHANGES.

    Returns:
        [window][micro-batch], and the changes from the defaults.

    Raises:
        ValueError: no teacher, an answer without a token or with an unknown id, a prompt twice, answers that do not
            fill all generations, or what DistillationConfig refuses.
        LookupError: the installed trainer has no such seam.
    """
    refuse_missing(teacher, "teacher")
    given_to = {"teacher_model": teacher, **peft_config_of(peft)}
    return run_like_distillation(
        DistillationTrainer, DistillationConfig, model, teacher, answers, micro_batch, arguments, **given_to
    )


def run_like_distillation(
    kind: Any,
    config: Any,
    model: Any,
    teacher: Any,
    answers: Sequence[Answer],
    micro_batch: int,
    arguments: dict[str, Any],
    **given_to: Any,
) -> tuple[list[list[Taught]], dict[str, str]]:
    """As ``run_distillation``, with a trainer that inherits from it and the class of its arguments.

    Args:
        given_to: what the trainer is built with beside these.
    """
    if not hasattr(DistillationTrainer, SEAM):
        raise LookupError(f"trl {version('trl')}: DistillationTrainer has no {SEAM}, to hand completions over")
    script, snapshots = lessons(answers), Snapshots()
    refuse_part_of_generation(len(answers), per_generation(micro_batch, arguments))
    given = {tuple(prompt): list(completion) for prompt, completion in answers}
    with tempfile.TemporaryDirectory() as folder, Installed():
        trainer = kind(
            model=model,
            args=settings(
                config,
                folder,
                per_device_train_batch_size=micro_batch,
                shuffle_dataset=False,
                **arguments,
            ),
            train_dataset=Dataset.from_list([{"prompt": words(prompt)} for prompt, _ in answers]),
            processing_class=tokenizer_of_words(model.config.vocab_size, "left"),
            **given_to,
        )
        setattr(trainer, SEAM, lambda prompts, *_: [given[tuple(ids)] for ids in prompts])
        windows = teach(trainer, teacher, script, snapshots)
    return windows, dict(CHANGES)
