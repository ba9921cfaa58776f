"""trl.experimental's real GKDTrainer and GOLDTrainer, driven on given answers, written or generated."""

import tempfile
from collections.abc import Sequence
from typing import Any

from datasets import Dataset

from ..objective_record import Taught
from .distillation import CHANGES as COMMON
from .distillation import SEAM
from .generation import CHANGE, generating
from .installed import Installed
from .reference_free import experimental
from .refused import per_generation, refuse_missing, refuse_part_of_generation
from .scored import Snapshots, peft_config_of, settings, tokenizer_of_words, words
from .taught import Answer, lessons, teach

CHANGES = {**{name: change for name, change in COMMON.items() if name != SEAM}, **CHANGE}


def run_gkd(
    model: Any,
    teacher: Any,
    answers: Sequence[Answer],
    *,
    written: Sequence[Answer] | None = None,
    peft: Any = None,
    micro_batch: int,
    **arguments: Any,
) -> tuple[list[list[Taught]], dict[str, str]]:
    """Train for one epoch.

    Args:
        model, teacher: student and teacher, of one vocabulary.
        answers: prompt and completion ids that are trained on; no prompt twice.
        written: what the data set holds for these prompts, if the student generates the answers; else they are it.
        peft: configuration of an adapter.
        micro_batch: completions per backward.
        arguments: further GKDConfig, over the ones in CHANGES.

    Returns:
        [window][micro-batch], and the changes from the defaults.

    Raises:
        ValueError: an answer without a token, a prompt twice, a completion that generation would not end, or what
            GKDConfig refuses.
        LookupError: what is installed has no such trainer.
    """
    return run("gkd", "GKD", model, teacher, answers, written, peft, micro_batch, arguments)


def run_gold(
    model: Any,
    teacher: Any,
    answers: Sequence[Answer],
    *,
    written: Sequence[Answer] | None = None,
    peft: Any = None,
    micro_batch: int,
    **arguments: Any,
) -> tuple[list[list[Taught]], dict[str, str]]:
    """As ``run_gkd``, with GOLDTrainer, which takes the answers in an order of its own."""
    plain = {"use_extended_uld": False, **arguments}
    windows, changes = run("gold", "GOLD", model, teacher, answers, written, peft, micro_batch, plain)
    return windows, {**changes, "use_extended_uld": "False: the tokenizer knows ids as words and no bytes"}


def run(
    module: str,
    name: str,
    model: Any,
    teacher: Any,
    answers: Sequence[Answer],
    written: Sequence[Answer] | None,
    peft: Any,
    micro_batch: int,
    arguments: dict[str, Any],
) -> tuple[list[list[Taught]], dict[str, str]]:
    """Train with trl.experimental.<module>.<name>Trainer."""
    refuse_missing(teacher, "teacher")
    trainer, config = experimental(module, name)
    script, snapshots = lessons(answers), Snapshots()
    if name != "GKD":
        # The sampler of the others goes by whole generations.
        refuse_part_of_generation(len(answers), per_generation(micro_batch, arguments))
    generate = generating({tuple(prompt): [completion] for prompt, completion in answers})
    with tempfile.TemporaryDirectory() as folder, Installed():
        built = trainer(
            model=model,
            teacher_model=teacher,
            args=settings(
                config,
                folder,
                per_device_train_batch_size=micro_batch,
                lmbda=float(written is not None),
                **arguments,
            ),
            train_dataset=as_messages(answers if written is None else written),
            processing_class=tokenizer_of_messages(model.config.vocab_size),
            **peft_config_of(peft),
        )
        built.model.generate = generate
        windows = teach(built, teacher, script, snapshots)
    return windows, dict(CHANGES)


def as_messages(answers: Sequence[Answer]) -> Dataset:
    """Prompts and completions as a conversation of one turn each."""
    return Dataset.from_list(
        [
            {"messages": [{"role": role, "content": words(ids)} for role, ids in zip(("user", "assistant"), answer)]}
            for answer in answers
        ]
    )


def tokenizer_of_messages(vocabulary: int) -> Any:
    """As ``tokenizer_of_words``, with a template that sets the messages one behind the other."""
    tokenizer = tokenizer_of_words(vocabulary, "left")
    tokenizer.chat_template = "{% for message in messages %}{{ message['content'] }} {% endfor %}"
    return tokenizer
