"""trl.experimental's real GOLDTrainer, driven on texts with a teacher of another tokenizer."""

import tempfile
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from string import ascii_lowercase
from typing import Any

import numpy as np
from datasets import Dataset
from tokenizers import Tokenizer, decoders, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast

from ..objective_record import Spelled, Taught
from ..probe import BOS, EOS, PAD
from .distillation import CHANGES as COMMON
from .distillation import SEAM
from .generation import CHANGE, generating
from .installed import Installed
from .reference_free import experimental
from .refused import per_generation, refuse_missing, refuse_part_of_generation, refuse_unknown_words
from .scored import Snapshots, settings
from .taught import Lesson, teach

SPECIAL = [f"<{i}>" for i in range(3)]
CHANGES = {
    **{name: change for name, change in COMMON.items() if name not in (SEAM, "shuffle_dataset")},
    "lmbda": "0: the completions of the data set, none is generated",
}
SAMPLED = {**CHANGES, **CHANGE, "lmbda": "1: every completion is generated"}
Text = tuple[str, str]
Merges = Sequence[tuple[str, str]]
Across = tuple[list[list[Taught]], list[tuple[Spelled, Spelled]], dict[str, str]]


def run_gold_across(
    model: Any,
    teacher: Any,
    merges: tuple[Merges, Merges],
    texts: Sequence[Text],
    *,
    micro_batch: int,
    **arguments: Any,
) -> Across:
    """Train for one epoch; the trainer takes the texts in an order of its own.

    Args:
        model, teacher: student and teacher, each of the vocabulary of its tokenizer.
        merges: of the tokenizers of both, as for ``tokenizer_of_letters``.
        texts: prompt and completion in lower-case letters; TRL puts the end of sequence behind them.
        micro_batch: completions per backward.
        arguments: further GOLDConfig, over the ones in CHANGES.

    Returns:
        [window][micro-batch], [text] how student and teacher spell the completion, and the changes from the defaults.

    Raises:
        ValueError: no teacher, a text without a letter or with another character, two texts of the same tokens, texts
            that do not fill all generations, or what GOLDConfig refuses.
        LookupError: what is installed has no such trainer, or one that knows no use_uld_loss.
    """
    student = tokenizer_of_letters(merges[0])
    rows = [joined(student, *text) for text in read(texts)]
    windows, told = run(model, teacher, merges, rows, texts, texts, None, micro_batch, arguments)
    return windows, told, dict(CHANGES)


def run_gold_sampled(
    model: Any,
    teacher: Any,
    merges: tuple[Merges, Merges],
    texts: Sequence[Text],
    sampled: Sequence[Sequence[int]],
    *,
    micro_batch: int,
    **arguments: Any,
) -> Across:
    """As ``run_gold_across``, where the student generates what it trains on.

    What it generates from is the prompt of its row, without a token that reaches into the completion of the data set.
    The teacher reads the text of what was generated, with an end of sequence more.

    Args:
        sampled: [text] ids that the student generates, with the end of sequence, or cut off at the longest.

    Raises:
        ValueError: as there; other numbers of texts and of sampled rows, two texts of one prompt, or ids that
            generation would not end so.
    """
    if len(texts) != len(sampled):
        raise ValueError(f"{len(texts)} texts for {len(sampled)} completions: give each text the ids to be generated")
    refuse_unknown_words(sampled, model)
    student = tokenizer_of_letters(merges[0])
    prompts = [ids[: own.start] for ids, own in (joined(student, *text) for text in read(texts))]
    given = {tuple(prompt): [said] for prompt, said in zip(prompts, sampled)}
    if len(given) != len(texts):
        raise ValueError(f"{len(texts)} texts, but only {len(given)} of their prompts differ: give no prompt twice")
    rows = [spelled(student, prompt, said) for prompt, said in zip(prompts, sampled)]
    heard = [(student.decode(prompt), student.decode(said)) for prompt, said in zip(prompts, sampled)]
    windows, told = run(model, teacher, merges, rows, heard, texts, generating(given), micro_batch, arguments)
    return windows, told, dict(SAMPLED)


def run(
    model: Any,
    teacher: Any,
    merges: tuple[Merges, Merges],
    rows: Sequence[tuple[list[int], Spelled]],
    heard: Sequence[Text],
    texts: Sequence[Text],
    generate: Any,
    micro_batch: int,
    arguments: dict[str, Any],
) -> tuple[list[list[Taught]], list[tuple[Spelled, Spelled]]]:
    """Train on the student's rows, of which the teacher hears the texts; generate: None for those of the data set."""
    refuse_missing(teacher, "teacher")
    refuse_part_of_generation(len(texts), per_generation(micro_batch, arguments))
    trainer, config = experimental("gold", "GOLD")
    if "use_uld_loss" not in config.__dataclass_fields__:
        raise LookupError(f"trl {version('trl')}: GOLDConfig knows no use_uld_loss, the loss across tokenizers")
    tokenizers = [tokenizer_of_letters(side) for side in merges]
    # The teacher's tokenizer is asked for the prompt and for the completion apart.
    others = [apart(tokenizers[1], *text) for text in heard]
    script = {tuple(ids): Lesson(i, own.start, read=others[i][0]) for i, (ids, own) in enumerate(rows)}
    if len(script) != len(texts):
        raise ValueError(f"{len(texts)} texts, but only {len(script)} of them differ: give no text twice")
    snapshots = Snapshots()
    with tempfile.TemporaryDirectory() as folder, Installed():
        tokenizers[1].save_pretrained(Path(folder) / "teacher")
        built = trainer(
            model=model,
            teacher_model=teacher,
            args=settings(
                config,
                folder,
                per_device_train_batch_size=micro_batch,
                lmbda=float(generate is not None),
                use_uld_loss=True,
                teacher_tokenizer_name_or_path=str(Path(folder) / "teacher"),
                **arguments,
            ),
            train_dataset=Dataset.from_list([{"prompt": prompt, "completion": said} for prompt, said in texts]),
            processing_class=tokenizers[0],
        )
        if generate is not None:
            built.model.generate = generate
        windows = teach(built, teacher, script, snapshots)
    return windows, [(own, other) for (_, own), (_, other) in zip(rows, others)]


def read(texts: Sequence[Text]) -> Sequence[Text]:
    """The same texts.

    Raises:
        ValueError: a text without a letter or with another character.
    """
    bad = [text for text in texts if not all(part and set(part) <= set(ascii_lowercase) for part in text)]
    if bad:
        raise ValueError(f"texts need a prompt and a completion in lower-case letters, got {bad[0]!r}")
    return texts


def tokenizer_of_letters(merges: Merges) -> PreTrainedTokenizerFast:
    """A byte-level tokenizer of the lower-case letters, and of these pairs of words that it already knows."""
    known = [*SPECIAL, *ascii_lowercase, *("".join(pair) for pair in merges)]
    tokenizer = Tokenizer(models.BPE({word: i for i, word in enumerate(known)}, list(merges)))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        pad_token=SPECIAL[PAD],
        bos_token=SPECIAL[BOS],
        eos_token=SPECIAL[EOS],
        padding_side="left",
    )


def joined(tokenizer: Any, prompt: str, completion: str) -> tuple[list[int], Spelled]:
    """The student's row: one text; a token that stands in both belongs to the completion."""
    ids = tokenizer(prompt + completion, add_special_tokens=False)["input_ids"]
    ends = np.cumsum([len(word) for word in tokenizer.convert_ids_to_tokens(ids)]) - len(prompt)
    start = int((ends <= 0).sum())
    return [*ids, EOS], Spelled(start, [*ids[start:], EOS], [*ends[start:].tolist(), len(completion) + 1])


def spelled(tokenizer: Any, prompt: Sequence[int], said: Sequence[int]) -> tuple[list[int], Spelled]:
    """The student's row of what it generated; its end of sequence is as long as the name of that."""
    ends = np.cumsum([len(word) for word in tokenizer.convert_ids_to_tokens(said)])
    return [*prompt, *said], Spelled(len(prompt), list(said), ends.tolist())


def apart(tokenizer: Any, prompt: str, completion: str) -> tuple[list[int], Spelled]:
    """The teacher's row: two texts, one behind the other."""
    before, (ids, spelled) = joined(tokenizer, "", prompt)[0][:-1], joined(tokenizer, "", completion)
    return [*before, *ids], Spelled(len(before), spelled.said, spelled.ends)
