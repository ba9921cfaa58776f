"""trl.experimental's real GOLDTrainer, driven on given texts with a teacher of another tokenizer."""

import tempfile
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from string import ascii_lowercase
from typing import Any

import numpy as np
from datasets import Dataset
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast

from ..objective_record import Spelled, Taught
from ..probe import BOS, EOS, PAD
from .distillation import CHANGES as COMMON
from .distillation import SEAM
from .reference_free import experimental
from .scored import OldNames, Snapshots, settings
from .taught import Lesson, teach

SPECIAL = [f"<{i}>" for i in range(3)]
CHANGES = {
    **{name: change for name, change in COMMON.items() if name not in (SEAM, "shuffle_dataset")},
    "lmbda": "0: the completions of the data set, none is generated",
}
Text = tuple[str, str]
Merges = Sequence[tuple[str, str]]


def run_gold_across(
    model: Any,
    teacher: Any,
    merges: tuple[Merges, Merges],
    texts: Sequence[Text],
    *,
    micro_batch: int,
    **arguments: Any,
) -> tuple[list[list[Taught]], list[tuple[Spelled, Spelled]], dict[str, str]]:
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
        ValueError: a text without a letter or with another character, two texts of the same tokens, or what GOLDConfig
            refuses.
        LookupError: what is installed has no such trainer, or one that knows no use_uld_loss.
    """
    trainer, config = experimental("gold", "GOLD")
    if "use_uld_loss" not in config.__dataclass_fields__:
        raise LookupError(f"trl {version('trl')}: GOLDConfig knows no use_uld_loss, the loss across tokenizers")
    bad = [text for text in texts if not all(part and set(part) <= set(ascii_lowercase) for part in text)]
    if bad:
        raise ValueError(f"texts need a prompt and a completion in lower-case letters, got {bad[0]!r}")
    tokenizers = [tokenizer_of_letters(side) for side in merges]
    rows = [joined(tokenizers[0], *text) for text in texts]
    # The teacher's tokenizer is asked for the prompt and for the completion apart.
    read = [apart(tokenizers[1], *text) for text in texts]
    script = {tuple(ids): Lesson(i, own.start, read=read[i][0]) for i, (ids, own) in enumerate(rows)}
    if len(script) != len(texts):
        raise ValueError(f"{len(texts)} texts, but only {len(script)} of them differ: give no text twice")
    snapshots = Snapshots()
    with tempfile.TemporaryDirectory() as folder, OldNames():
        tokenizers[1].save_pretrained(Path(folder) / "teacher")
        built = trainer(
            model=model,
            teacher_model=teacher,
            args=settings(
                config,
                folder,
                per_device_train_batch_size=micro_batch,
                lmbda=0.0,
                use_uld_loss=True,
                teacher_tokenizer_name_or_path=str(Path(folder) / "teacher"),
                **arguments,
            ),
            train_dataset=Dataset.from_list([{"prompt": prompt, "completion": said} for prompt, said in texts]),
            processing_class=tokenizers[0],
        )
        windows = teach(built, teacher, script, snapshots)
    return windows, [(own, other) for (_, own), (_, other) in zip(rows, read)], dict(CHANGES)


def tokenizer_of_letters(merges: Merges) -> PreTrainedTokenizerFast:
    """A byte-level tokenizer of the lower-case letters, and of these pairs of words that it already knows."""
    known = [*SPECIAL, *ascii_lowercase, *("".join(pair) for pair in merges)]
    tokenizer = Tokenizer(models.BPE({word: i for i, word in enumerate(known)}, list(merges)))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
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


def apart(tokenizer: Any, prompt: str, completion: str) -> tuple[list[int], Spelled]:
    """The teacher's row: two texts, one behind the other."""
    before, (ids, spelled) = joined(tokenizer, "", prompt)[0][:-1], joined(tokenizer, "", completion)
    return [*before, *ids], Spelled(len(before), spelled.said, spelled.ends)
