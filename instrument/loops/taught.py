"""Drives a trainer of TRL whose student learns from a teacher, and keeps what its divergence should have compared.

What a student learns from is spread over the vocabulary, so a token has no weight of its own log-probability: the
gradient at the final hidden state is kept as it is, with the logits of both models once more and apart.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from importlib.metadata import version
from typing import Any, NamedTuple

import numpy as np
import torch
from transformers import PrinterCallback

from ..capture import Replay
from ..locate import locate
from ..objective_record import Taught
from .installed import Installed
from .refused import refuse_half, refuse_unknown_words
from .scored import Ids, Parameters, Snapshots, log_probabilities, looked_up


class Lesson(NamedTuple):
    """A row that may run.

    Attributes:
        number: which answer it is.
        start: tokens of its prompt.
        context: [n] ids that the teacher reads in the place of the prompt, or None where it reads the same row.
        read: ids of the whole row that the teacher reads, of a tokenizer of its own; None where it has the student's.
    """

    number: int
    start: int
    context: Sequence[int] | None = None
    read: Sequence[int] | None = None


Answer = tuple[Sequence[int], Sequence[int]]
Lessons = Mapping[Ids, Lesson]


def lessons(answers: Sequence[Answer], contexts: Sequence[Sequence[int]] | None = None) -> dict[Ids, Lesson]:
    """What may run, by the ids of its row.

    Args:
        answers: prompt and completion ids.
        contexts: [answer] ids that the teacher reads in the place of the prompt.

    Raises:
        ValueError: an answer without a token, or a prompt twice.
    """
    prompts = {tuple(prompt) for prompt, _ in answers}
    if not prompts or len(prompts) != len(answers) or not all(len(p) and len(c) for p, c in answers):
        raise ValueError(f"answers need a prompt and a completion, no prompt twice, got {list(answers)!r}")
    return {(*p, *c): Lesson(i, len(p), None if contexts is None else contexts[i]) for i, (p, c) in enumerate(answers)}


def teach(
    trainer: Any,
    teacher: Any,
    script: Lessons,
    snapshots: Snapshots,
    learned: Callable[[int], Parameters] = lambda window: {},
) -> list[list[Taught]]:
    """Train, and gather [window][micro-batch].

    Args:
        trainer: built, not yet run.
        teacher: the model that its divergence should compare the student with.
        script: the rows that may run.
        snapshots: not yet told of a step; told of each generation by whoever generates.
        learned: parameters that the teacher has in a window, in the place of its own.

    Raises:
        ValueError: a row of the script holds an id that the student does not know; the student trains in bfloat16.
        RuntimeError: the trainer ran a row that the script does not hold.
        LookupError: no gradient came to the final hidden states of the installed release's student.
    """
    refuse_unknown_words(script, trainer.model)
    refuse_half(trainer)
    read: list[tuple[int, Any, torch.Tensor]] = []

    def take(base: Any, args: Any, inputs: dict[str, Any], output: Any) -> None:
        hidden = output.last_hidden_state
        if hidden.requires_grad and not Replay.running:
            hidden.register_hook(lambda gradient: read.append((len(snapshots.windows), inputs, gradient.double())))

    trainer.remove_callback(PrinterCallback)
    trainer.add_callback(snapshots)
    handle = locate(trainer.model).read_point.register_forward_hook(take, with_kwargs=True)
    with Installed():
        trainer.train()
    handle.remove()
    if not read:
        raise LookupError(
            f"trl {version('trl')}: {type(trainer).__name__} brings no gradient to last_hidden_state of its student, "
            "at which its tokens are read"
        )
    windows: list[list[Taught]] = [[] for _ in snapshots.windows]
    for number, inputs, gradient in read:
        batch = one_batch(trainer.model, teacher, inputs, gradient, script, snapshots.windows[number], learned(number))
        origin = snapshots.origin(number, batch.numbers.tolist())
        if origin >= 0:
            rows = [inputs["input_ids"][place].numpy() for place in places(inputs)]
            before = log_probabilities(trainer.model, rows, snapshots.generations[origin][1]).log_p
            now = log_probabilities(trainer.model, rows, snapshots.windows[number]).log_p
            batch = replace(batch, drift=[p - old for p, old in zip(now, before)])
        windows[number].append(batch)
    return windows


def one_batch(
    model: Any,
    teacher: Any,
    inputs: dict[str, Any],
    gradient: torch.Tensor,
    script: Lessons,
    parameters: Parameters,
    learned: Parameters,
) -> Taught:
    """One micro-batch."""
    at = places(inputs)
    rows = [inputs["input_ids"][place].numpy() for place in at]
    found = looked_up(rows, script)
    student, taught = [], []
    for row, lesson in zip(rows, found):
        student.append(logits_of(model, row, parameters))
        taught.append(logits_of(teacher, row if lesson.read is None else lesson.read, learned))
        if lesson.context is not None:
            completion = row[lesson.start :]
            asked = logits_of(teacher, np.array([*lesson.context, *completion]), learned)
            taught[-1][lesson.start - 1 :] = asked[-completion.size :]
    head = parameters.get("lm_head.weight", model.lm_head.weight).detach().double().numpy()
    return Taught(
        np.array([lesson.number for lesson in found]),
        [np.arange(row.size - 1) >= lesson.start - 1 for row, lesson in zip(rows, found)],
        [row[1:] for row in rows],
        [-gradient[place][:-1].numpy() for place in at],
        student,
        taught,
        head,
        [np.zeros(row.size - 1) for row in rows],
    )


def places(inputs: dict[str, Any]) -> list[tuple[torch.Tensor, torch.Tensor]]:
    """[b] where the tokens of each row stand: those of the mask, or those between two restarts of the positions."""
    mask = inputs.get("attention_mask")
    if mask is not None:
        return [(torch.full_like(seen.nonzero()[:, 0], b), seen.nonzero()[:, 0]) for b, seen in enumerate(mask)]
    b, n = (inputs["position_ids"] == 0).nonzero(as_tuple=True)
    ends = [*n[1:].tolist(), inputs["position_ids"].shape[1]]
    return [(row.expand(end - int(start)), torch.arange(int(start), end)) for row, start, end in zip(b, n, ends)]


def logits_of(model: Any, ids: Any, parameters: Parameters) -> Any:
    """[n, v] logits of the next token at each place of a row but the last."""
    arguments = {"input_ids": torch.as_tensor(ids)[None], "use_cache": False}
    with Replay(), torch.no_grad():
        logits = torch.func.functional_call(model, parameters, (), arguments).logits
    return logits[0, :-1].double().numpy()
