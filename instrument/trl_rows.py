"""The rows, pairs, completions and rewards on which the report drives the trainers of TRL."""

from typing import Any

VOCABULARY = 61
ROWS = ((3, 4, 5, 6, 7), (8, 9, 10), (11, 12, 13, 14), (15, 16), (17, 18, 19))
MARKS = ((0, 0, 1, 1, 1), (0, 1, 1), (0, 0, 1, 0), (0, 1), (0, 0, 1))
TURNS = ((0, 1, 1, 0, 1), (1, 1, 0), (1, 1, 1, 0), (1, 1), (1, 1, 1))
PAIRS = (
    ((3, 4), (5, 6, 7), (8, 9)),
    ((10,), (11,), (12, 13, 14)),
    ((15, 16), (17, 18), (19, 20, 21)),
    ((22,), (23, 24), (25,)),
    ((26, 27), (28,), (29, 30)),
    ((31,), (32, 33), (34, 35, 36)),
)
GOLD = ((37, 38), (39,), (40, 41, 42), (43,), (44, 45), (46, 47))
ANSWERS = (
    ((3, 4), (5, 6), True),
    ((7,), (8, 9, 10), False),
    ((11, 12, 13), (14,), True),
    ((15,), (16, 17), True),
    ((18,), (19,), False),
    ((20, 21), (22,), False),
    ((23,), (24, 25), True),
    ((26, 27), (28,), False),
)
# 2 is the end of sequence: what does not end with it was truncated, at as many tokens as the longest has.
GROUPS = (
    ((3, 4), ((5, 6, 2), (7, 8, 9, 28)), (1.0, 0.25)),
    ((10,), ((11, 12, 13, 2), (14, 2)), (0.5, 2.0)),
    ((15, 16, 17), ((18, 2), (19, 20, 21, 22)), (0.0, 1.0)),
    ((23,), ((24, 25, 26, 2), (27, 2)), (1.5, 1.0)),
)
MARGINS = (0.5, -1.0, 2.0, 0.0, 1.0, 0.25)


def groups(tools: bool = False) -> list[Any]:
    """GROUPS as the loops take them; with tools, one of them wrote the second token of each completion."""
    from .loops.grpo import Group

    return [
        Group(
            prompt,
            completions,
            [[r] for r in given],
            [[t != 1 for t in range(len(ids))] for ids in completions] if tools else None,
        )
        for prompt, completions, given in GROUPS
    ]


def rewards() -> list[list[float]]:
    """[number][1] rewards of GROUPS."""
    return [[r] for _, _, given in GROUPS for r in given]
