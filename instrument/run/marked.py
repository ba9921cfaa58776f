"""Whether what is trained is what the script's own dataset marks as answers, row by row.

TRL turns the marks into labels when it prepares a dataset, and drops them; here they are made once more, from the rows
as the script gave them.
"""

import time
from collections.abc import Iterator
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from ..record import Row, Window
from .tokens import Said, listed, text_of


class Document(NamedTuple):
    """A document of a row: tokens start to stop of row b of a window; and the marks of its answers, if found."""

    window: int
    b: int
    row: Row
    start: int
    stop: int
    marks: Any


def sentences(windows: list[Window], trainer: Any, dataset: Any, seconds: float = 1.5) -> list[Said]:
    """What is trained and is no answer, and which tokens of answers are not; nothing where that cannot be asked.

    Args:
        dataset: as the script gave it.
        seconds: how long to look for the rows in it.
    """
    if not comparable(trainer, dataset):
        return []
    why, found, said, failed = "no recorded row was found in the dataset that the script gave", [], [], False
    try:
        found = looked_up(windows, trainer, dataset, seconds)
    # Rows may be of whatever kind, and the rest of the verdict holds without this.
    except Exception as problem:
        why, failed = f"{type(problem).__name__}: {problem}", True
    if failed or (not found and (trainer.args.assistant_only_loss or trainer.completion_only_loss)):
        text = f"which tokens are answers is not compared: {why}"
        said = [Said("not-judged", "note", text, number) for number in range(len(windows))]
    for number in range(len(windows)):
        said += of_window(number, [document for document in found if document.window == number], trainer)
    return said


def comparable(trainer: Any, dataset: Any) -> bool:
    """Whether a dataset says what is to be trained: TRL prepares it, and the script has no collator of its own."""
    collator = type(getattr(trainer, "data_collator", None)).__module__.split(".")[0]
    return hasattr(dataset, "column_names") and hasattr(dataset, "__getitem__") and collator in ("trl", "transformers")


def looked_up(windows: list[Window], trainer: Any, dataset: Any, seconds: float) -> list[Document]:
    """The documents of the recorded rows that are found in the dataset."""
    wanted: dict[tuple[int, ...], list[Document]] = {}
    for document in documents(windows):
        wanted.setdefault(tuple(document.row.ids[document.start : document.stop].tolist()), []).append(document)
    longest, found = trainer.args.max_length, []
    deadline = time.monotonic() + seconds
    for number in range(len(dataset)):
        if not wanted or time.monotonic() > deadline:
            break
        ids, marks = marked(dataset[number], trainer)
        for whole in {tuple(ids), tuple(ids[:longest])}:
            for document in wanted.pop(whole, []):
                found.append(document._replace(marks=np.array(marks[: len(whole)], bool)))
    return found


def documents(windows: list[Window]) -> Iterator[Document]:
    """Every document of every row."""
    for number, window in enumerate(windows):
        for b, row in enumerate(window.rows):
            for start, stop in pairwise([*row.starts.tolist(), row.ids.size]):
                yield Document(number, b, row, start, stop, None)


def marked(example: dict[str, Any], trainer: Any) -> tuple[list[int], list[bool]]:
    """Ids of a row of the dataset, and which of them are to be trained."""
    args, masks = trainer.args, []
    if "input_ids" in example:
        ids = list(example["input_ids"])
        masks = [example[name] for name in ("assistant_masks",) if example.get(name) is not None]
        if trainer.completion_only_loss and example.get("completion_mask") is not None:
            masks.append(example["completion_mask"])
        if example.get("labels") is not None:
            masks = [[label != -100 for label in example["labels"]]]
    else:
        prompt = example.get("prompt")
        text = example.get("messages", example.get(args.dataset_text_field)) if prompt is None else None
        whole = prompt + example["completion"] if text is None else text
        ids, assistant = tokenized(whole, trainer, args.assistant_only_loss, example)
        if args.assistant_only_loss:
            masks.append(assistant)
        if prompt is not None and trainer.completion_only_loss:
            before, _ = tokenized(prompt, trainer, False, example, add_generation_prompt=True, ends=False)
            shared = next((n for n, (a, b) in enumerate(zip(before, ids)) if a != b), min(len(before), len(ids)))
            masks.append([at >= shared for at in range(len(ids))])
    return ids, [all(marks) for marks in zip(*masks)] if masks else [True] * len(ids)


def tokenized(
    text: Any,
    trainer: Any,
    assistant: bool,
    example: dict[str, Any],
    add_generation_prompt: bool = False,
    ends: bool = True,
) -> tuple[list[int], list[bool]]:
    """Ids of a text or a conversation, and which of them the assistant says, where that was asked for."""
    tokenizer = trainer.processing_class
    if isinstance(text, str):
        eos = getattr(tokenizer, "eos_token", None) or ""
        return tokenizer(text=text if not ends or text.endswith(eos) else text + eos)["input_ids"], []
    found = tokenizer.apply_chat_template(
        text,
        tokenize=True,
        return_dict=True,
        add_generation_prompt=add_generation_prompt,
        return_assistant_tokens_mask=assistant,
        chat_template=getattr(trainer, "chat_template", None),
        tools=example.get("tools"),
    )
    return list(found["input_ids"]), [bool(mark) for mark in found["assistant_masks"]] if assistant else []


def of_window(number: int, found: list[Document], trainer: Any) -> list[Said]:
    """What the documents of one window show."""
    tokenizer = trainer.processing_class
    extra: list[tuple[int, int]] = []
    lost: list[tuple[int, int, bool]] = []
    begins = 0
    for one in found:
        # The first token of a row or document is the target of none.
        trained = one.row.scored[one.start : one.stop - 1]
        marks, first = one.marks[1:], one.marks[1:] & ~np.concatenate([[False], one.marks[1:-1]])
        trained, marks, first = (values[: min(trained.size, marks.size)] for values in (trained, marks, first))
        begins += int(first.sum())
        ids = one.row.ids[one.start + 1 :]
        extra += [(one.b, ids[at]) for at in np.flatnonzero(trained & ~marks)]
        lost += [(one.b, ids[at], bool(first[at])) for at in np.flatnonzero(marks & ~trained)]
    said = []
    if extra:
        rows = listed(sorted({b for b, _ in extra}))
        shown = text_of([i for _, i in extra[:8]], tokenizer)
        text = (
            f"the prompt is trained: {len(extra)} tokens that the dataset does not mark as answers are targets, in "
            f"{rows}: {shown!r}"
        )
        said.append(Said("prompt-trained", "fault", text, number))
    if lost and all(first for *_, first in lost):
        text = (
            f"the first answer token is lost: it is no target in {len(lost)} of {begins} answers, in "
            f"{listed(sorted({b for b, *_ in lost}))}: {text_of([i for _, i, _ in lost[:1]], tokenizer)!r}"
        )
        said.append(Said("first-answer-token-lost", "fault", text, number))
    elif lost:
        shown = text_of([i for _, i, _ in lost[:8]], tokenizer)
        text = f"{len(lost)} tokens of answers are no targets, in {listed(sorted({b for b, *_ in lost}))}: {shown!r}"
        said.append(Said("answer-not-trained", "fault", text, number))
    return said
