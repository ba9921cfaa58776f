"""Groups of given completions and rewards, handed to a trainer of TRL that would generate and reward its own."""

import tempfile
from collections import Counter
from collections.abc import Callable, Sequence
from importlib.metadata import version
from typing import Any, NamedTuple

import numpy as np
import torch
from datasets import Dataset

from ..gathering import place
from ..objective_record import Driven
from ..probe import EOS
from .generation import SEAM, generating
from .installed import Installed
from .moving import Moves, Moving
from .refused import per_generation, refuse_part_of_generation
from .scored import CHANGES as COMMON
from .scored import Ids, Snapshots, drive, keep_as_reference, settings, tokenizer_of_words, words

CHANGES = {
    **COMMON,
    "shuffle_dataset": "False",
    "reward_funcs": "look the given rewards up",
    "reference": "loaded by TRL from the path in the model's config, as given",
}


class Group(NamedTuple):
    """The completions of one prompt.

    Attributes:
        prompt: ids.
        completions: [i] ids; the end of sequence stands in them where they end, one without it was truncated.
        rewards: [i][k] of each reward function; None where it gives none.
        written: [i][t] False where a tool wrote the token; all True when left out.
    """

    prompt: Sequence[int]
    completions: Sequence[Sequence[int]]
    rewards: Sequence[Sequence[float | None]]
    written: Sequence[Sequence[bool]] | None = None


def run_on(
    make: Callable[..., Any],
    config: Any,
    model: Any,
    groups: Sequence[Group],
    *,
    reference: Any,
    moves: Moves | None = None,
    beta: float,
    peft: Any,
    micro_batch: int,
    arguments: dict[str, Any],
) -> Driven:
    """Train for one epoch on groups; the rest as for ``run_grpo``.

    Args:
        make: make(answers, snapshots, **given) builds the trainer, tells the snapshots of each generation, and feeds
            the answers to it.
        config: class of its arguments.
        beta: what the trainer weighs the reference with.
    """
    script = scripted(groups, bool(arguments.get("mask_truncated_completions", False)))
    size = read_size(groups, per_generation(micro_batch, arguments))
    snapshots, answers = Snapshots(), Answers(groups)
    with tempfile.TemporaryDirectory() as folder, Installed():
        if reference is not None or beta:
            keep_as_reference(model, reference, folder)
        trainer = make(
            answers,
            snapshots,
            model=model,
            args=settings(
                config,
                folder,
                per_device_train_batch_size=micro_batch,
                num_generations=size,
                shuffle_dataset=False,
                **arguments,
            ),
            train_dataset=Dataset.from_list([{"prompt": words(group.prompt)} for group in groups]),
            processing_class=tokenizer_of_words(model.config.vocab_size, "left"),
            reward_funcs=answers.rewards(),
            peft_config=peft,
        )
        moving = None if moves is None else Moving(reference, snapshots, moves, script)
        return drive(trainer, script, snapshots, reference, moving)


class Answers:
    """The given completions, looked up by the text of their prompts."""

    def __init__(self, groups: Sequence[Group]) -> None:
        self.rows: list[tuple[Any, Any, Any, Any]] = []
        self.first: dict[str, int] = {}
        for group in groups:
            self.first[words(group.prompt)] = len(self.rows)
            marks = group.written or [[True] * len(ids) for ids in group.completions]
            self.rows += [(group.prompt, *row) for row in zip(group.completions, group.rewards, marks)]
        self.numbers: dict[tuple[str, Any], int] = {}
        for number, (prompt, ids, _, _) in enumerate(self.rows):
            said = words([i for i in ids if i != EOS])
            self.numbers |= {(words(prompt), tuple(ids)): number, (words(prompt), said): number}

    def generate_by(self, trainer: Any, snapshots: Snapshots) -> None:
        """Have the trainer's model hand over the given completions where it would generate its own.

        Raises:
            LookupError: tools wrote some of the tokens, of which such a trainer is told nothing.
        """
        if not all(all(marks) for _, _, _, marks in self.rows):
            raise LookupError(f"trl {version('trl')}: {type(trainer).__name__} is not told which tokens a tool wrote")
        given: dict[Ids, list[Sequence[int]]] = {}
        for prompt, ids, _, _ in self.rows:
            given.setdefault(tuple(prompt), []).append(ids)
        number_of = {(*prompt, *ids): number for number, (prompt, ids, _, _) in enumerate(self.rows)}

        def note(rows: list[Ids]) -> None:
            snapshots.generated(trainer.model, [number_of[row] for row in rows])

        setattr(trainer.model, SEAM, generating(given, note))

    def next(self, prompts: list[str]) -> list[int]:
        """Numbers of the completions of these prompts, each of which comes once per completion, on whichever rank.

        Every rank must call it, since a group may lie on several.
        """
        rank, ranks = place()
        seen: Counter[str] = Counter()
        if ranks > 1:
            of_ranks: list[list[str]] = [[]] * ranks
            torch.distributed.all_gather_object(of_ranks, prompts)
            seen.update(prompt for earlier in of_ranks[:rank] for prompt in earlier)
        numbers = []
        for prompt in prompts:
            numbers.append(self.first[prompt] + seen[prompt])
            seen[prompt] += 1
        return numbers

    def rewards(self) -> list[Callable[..., list[float | None]]]:
        """The reward functions."""

        def function(k: int) -> Callable[..., list[float | None]]:
            def reward(
                prompts: list[str], completions: list[str], completion_ids: Any = None, **_: Any
            ) -> list[float | None]:
                # Releases before 0.17 hand over the text alone, of which the end of sequence is no part.
                said = completions if completion_ids is None else [tuple(ids) for ids in completion_ids]
                return [self.rows[self.numbers[pair]][2][k] for pair in zip(prompts, said)]

            reward.__name__ = f"given_{k}"
            return reward

        return [function(k) for k in range(len(self.rows[0][2]))]


def scripted(groups: Sequence[Group], mask_truncated: bool) -> dict[Ids, tuple[int, Sequence[bool]]]:
    """Which tokens of which row are scored, by its ids; a masked completion leaves the row of its prompt alone.

    Raises:
        ValueError: groups without a token, rows that are given twice, marks of another number, or rewards that are not
            one finite number, or None, of each reward function for each completion.
    """
    refuse_other_rewards(groups)
    script: dict[Ids, tuple[int, Sequence[bool]]] = {}
    number = 0
    for group in groups:
        written = group.written or [[True] * len(ids) for ids in group.completions]
        sizes = [len(ids) for ids in group.completions]
        if [len(marks) for marks in written] != sizes:
            raise ValueError(
                f"the prompt {list(group.prompt)} has completions of {sizes} tokens, but {[len(w) for w in written]} "
                "marks: give one mark for each token"
            )
        for ids, marks in zip(group.completions, written):
            before = [False] * (len(group.prompt) - 1)
            row, scored = (*group.prompt, *ids), [*before, *marks]
            if row in script or not len(ids) or not len(group.prompt):
                raise ValueError(f"completions need a token, a prompt before them, and no twin, got the row {row}")
            left_out = mask_truncated and ids[-1] != EOS
            # A trainer that forgets to leave it out runs the whole row, of which nothing is to be trained.
            script[row] = (number, [False] * len(scored) if left_out else scored)
            if left_out:
                script[tuple(group.prompt)] = (-1, before)
            number += 1
    return script


def refuse_other_rewards(groups: Sequence[Group]) -> None:
    """Raise for rewards that no reward functions could have given.

    Raises:
        ValueError: another number of lists than of completions, lists that are empty or of several lengths, or a reward
            that is neither a finite number nor None.
    """
    functions = next((len(row) for group in groups for row in group.rewards if isinstance(row, Sequence)), 0)
    for group in groups:
        said = f"the prompt {list(group.prompt)} has {len(group.completions)} completions and the rewards"
        if len(group.rewards) != len(group.completions):
            raise ValueError(f"{said} {group.rewards!r}: give one list of rewards for each completion")
        for row in group.rewards:
            if not isinstance(row, Sequence) or len(row) != functions or not functions:
                raise ValueError(
                    f"{said} {group.rewards!r}: give each completion a list, one reward of each reward function, the "
                    "same number for all"
                )
            if not all(r is None or np.isfinite(r) for r in row):
                raise ValueError(f"{said} {group.rewards!r}: a reward is a finite number, or None where there is none")


def read_size(groups: Sequence[Group], generation: int) -> int:
    """G, the completions of each group.

    Args:
        generation: completions that are generated at once on each rank; a group may lie on several.

    Raises:
        ValueError: groups of several sizes, of fewer than two, or of a size that does not divide the generation; groups
            that do not fill the last generation.
    """
    generation *= place()[1]
    sizes = sorted({len(group.completions) for group in groups})
    if len(sizes) != 1 or sizes[0] < 2 or generation % sizes[0]:
        raise ValueError(
            f"groups hold {sizes} completions and a generation {generation}: every group needs the same number, at "
            "least 2, and it must divide micro_batch x steps_per_generation, times the ranks"
        )
    refuse_part_of_generation(sizes[0] * len(groups), generation)
    return sizes[0]
