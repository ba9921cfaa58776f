"""Given completions in the place of what ``model.generate`` would draw."""

import itertools
from collections.abc import Callable, Mapping, Sequence
from types import SimpleNamespace
from typing import Any

import torch

from ..probe import EOS, PAD
from .scored import Ids

SEAM = "generate"
CHANGE = {"model.generate": "replaced on the instance: hands over the given completions, nothing is generated"}


def generating(
    given: Mapping[Ids, Sequence[Sequence[int]]], generated: Callable[[list[Ids]], None] = lambda rows: None
) -> Callable[..., Any]:
    """A function that stands for ``generate``.

    Args:
        given: the completions of each prompt; asked again, the first comes after the last.
        generated: told of the rows of each call.

    Raises:
        ValueError: a completion ends before the longest without its end of sequence, where generation would go on.
    """
    longest = max(len(completion) for completions in given.values() for completion in completions)
    for prompt, completions in given.items():
        for completion in completions:
            if completion[-1] != EOS and len(completion) < longest:
                raise ValueError(
                    f"the completion {list(completion)} of the prompt {list(prompt)} has no end of sequence ({EOS}) "
                    f"but fewer than {longest} tokens: generation stops at one of the two"
                )
    left = {prompt: itertools.cycle(completions) for prompt, completions in given.items()}

    def generate(input_ids: torch.Tensor, attention_mask: torch.Tensor, **options: Any) -> Any:
        copies = getattr(options.get("generation_config"), "num_return_sequences", None) or 1
        prompts = [tuple(ids[mask.bool()].tolist()) for ids, mask in zip(input_ids, attention_mask)]
        rows = [(prompt, next(left[prompt])) for prompt in prompts for _ in range(copies)]
        generated([(*prompt, *completion) for prompt, completion in rows])
        completions, _ = table([completion for _, completion in rows], left=False)
        sequences = torch.cat([input_ids.repeat_interleave(copies, 0), completions], 1)
        return SimpleNamespace(sequences=sequences) if options.get("return_dict_in_generate") else sequences

    return generate


def table(rows: Sequence[Sequence[int]], left: bool) -> tuple[torch.Tensor, torch.Tensor]:
    """[b, t] ids of rows that are padded on one side, and the mask of their tokens."""
    width = max(len(row) for row in rows)
    pads = [[PAD] * (width - len(row)) for row in rows]
    ids = torch.tensor([[*pad, *row] if left else [*row, *pad] for row, pad in zip(rows, pads)])
    return ids, (ids != PAD).long()
