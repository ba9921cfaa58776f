"""trl.experimental's real IWOPDTrainer, driven on given completions of a student."""

import tempfile
from collections.abc import Sequence
from typing import Any

from ..objective_record import Driven, Taught
from .generation import generating
from .gkd import CHANGES as COMMON
from .gkd import as_messages, run, tokenizer_of_messages
from .installed import Installed
from .reference_free import experimental
from .refused import per_generation, refuse_missing, refuse_part_of_generation
from .scored import Snapshots, drive, peft_config_of, settings
from .taught import Answer, lessons

CHANGES = {**COMMON, "teacher": "its tokenizer is the student's, which TRL loads from the path in its config"}


def run_iw_opd(
    model: Any,
    teacher: Any,
    answers: Sequence[Answer],
    *,
    written: Sequence[Answer] | None = None,
    peft: Any = None,
    micro_batch: int,
    **arguments: Any,
) -> Driven:
    """Train for one epoch; the trainer takes the answers in an order of its own.

    Args:
        model, teacher: student and teacher, of one vocabulary; the config of the teacher is changed.
        answers: prompt and completion ids that the student generates; no prompt twice.
        written: what the data set holds for these prompts; the same, if left out.
        peft: configuration of an adapter.
        micro_batch: completions per backward.
        arguments: further IWOPDConfig, over the ones in CHANGES.

    Returns:
        The run; the teacher is its reference.

    Raises:
        ValueError: an answer without a token, a prompt twice, a completion that generation would not end, or what
            IWOPDConfig refuses.
        LookupError: what is installed has no such trainer.
    """
    refuse_missing(teacher, "teacher")
    refuse_part_of_generation(len(answers), per_generation(micro_batch, arguments))
    trainer, config = experimental("iw_opd", "IWOPD")
    script = {
        row: (lesson.number, [n >= lesson.start - 1 for n in range(len(row) - 1)])
        for row, lesson in lessons(answers).items()
    }
    generate = generating({tuple(prompt): [completion] for prompt, completion in answers})
    tokenizer = tokenizer_of_messages(model.config.vocab_size)
    with tempfile.TemporaryDirectory() as folder, Installed():
        tokenizer.save_pretrained(folder)
        teacher.config._name_or_path = folder
        built = trainer(
            model=model,
            teacher_model=teacher,
            args=settings(config, folder, per_device_train_batch_size=micro_batch, **arguments),
            train_dataset=as_messages(answers if written is None else written),
            processing_class=tokenizer,
            **peft_config_of(peft),
        )
        built.model.generate = generate
        driven = drive(built, script, Snapshots(), teacher)
    driven.record.changes.update(CHANGES)
    return driven


def run_iw_opd_jsd(
    model: Any,
    teacher: Any,
    answers: Sequence[Answer],
    *,
    written: Sequence[Answer] | None = None,
    peft: Any = None,
    micro_batch: int,
    **arguments: Any,
) -> tuple[list[list[Taught]], dict[str, str]]:
    """As ``gkd.run_gkd``, with IWOPDTrainer and distillation_objective="jsd"; the config of the teacher is changed."""
    refuse_missing(teacher, "teacher")
    with tempfile.TemporaryDirectory() as folder:
        tokenizer_of_messages(model.config.vocab_size).save_pretrained(folder)
        teacher.config._name_or_path = folder
        given = {"distillation_objective": "jsd", **arguments}
        windows, _ = run("iw_opd", "IWOPD", model, teacher, answers, written, peft, micro_batch, given)
    return windows, dict(CHANGES)
