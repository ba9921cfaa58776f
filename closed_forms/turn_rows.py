"""Weights of one window of TRL's SFTTrainer when it marks the assistant's turns in the wrong place.

Axes and weight as in ``completions``. A turn is a run of scored targets; the first token of a row is nobody's target.
Each function takes the marks as they should be, [m][b][t] 1 where scored; what is marked instead is averaged as
``targets``.
"""

from collections.abc import Callable, Sequence

import numpy as np

from ._window import Float
from .completions import Rows
from .target_rows import targets

Marks = Sequence[bool]


def targets_of_last_turns(masks: Rows) -> list[Float]:
    """Only the last turn of each row is marked. Source: https://github.com/axolotl-ai-cloud/axolotl/issues/1761"""

    def last(row: Marks) -> list[bool]:
        gaps = np.flatnonzero(np.diff([0, *map(int, row)]) == 1)
        return [bool(mark) and t >= gaps[-1] for t, mark in enumerate(row)]

    return _marked(masks, last)


def targets_to_the_end(masks: Rows) -> list[Float]:
    """The first turn never ends. Source: https://github.com/huggingface/transformers/issues/47326"""
    return _marked(masks, lambda row: np.logical_or.accumulate(np.asarray(row, dtype=bool)).tolist())


def targets_without_turn_ends(masks: Rows) -> list[Float]:
    """The last token of each turn is not marked. Source: https://github.com/axolotl-ai-cloud/axolotl/issues/3754"""
    return _marked(masks, lambda row: [bool(a) and bool(b) for a, b in zip(row, [*row[1:], False])])


def targets_of_found_answers(masks: Rows) -> list[Float]:
    """Nothing is marked in rows whose answer begins at their second token, of which t = 0 is the target.

    Source: https://github.com/huggingface/trl/issues/1920
    """
    return _marked(masks, lambda row: [False] * len(row) if row[0] else [bool(mark) for mark in row])


def targets_with_token_before(masks: Rows) -> list[Float]:
    """The token before the first turn is marked too, where it is a target.

    Source: https://github.com/huggingface/trl/issues/5213
    """

    def early(row: Marks) -> list[bool]:
        first = int(np.argmax(row))
        return [bool(mark) or t == first - 1 for t, mark in enumerate(row)]

    return _marked(masks, early)


def _marked(masks: Rows, instead: Callable[[Marks], list[bool]]) -> list[Float]:
    if not all(any(row) for rows in masks for row in rows):
        raise ValueError("every row needs a target that is marked: leave out rows without a turn")
    return targets([[instead(row) for row in rows] for rows in masks])
