"""Draws for TRL's trainers, and for ranks."""

import itertools

import numpy as np
from hypothesis import settings
from hypothesis import strategies as st

from tests.strategies import Shape

VOCABULARY = 61
RANKS = 2
# One example is a whole training run, so that a profile's number of examples is shared by the loss types.
few = settings(max_examples=max(2, settings.default.max_examples // 12))

seeds = st.integers(0, 2**16)
betas = st.sampled_from([0.1, 0.5, 1.0])
lengths = st.integers(1, 3)


class Ids:
    """Hands out token ids, none twice, so that no two rows are alike."""

    def __init__(self, seed):
        order = np.random.default_rng(seed).permutation(np.arange(3, VOCABULARY))
        self.left = iter(order.tolist())

    def take(self, n):
        return tuple(itertools.islice(self.left, n))


@st.composite
def pairs(draw, completions=2):
    """Two to five pairs: prompt, chosen, rejected, or as many completions as are asked for."""
    ids = Ids(draw(seeds))
    shapes = draw(st.lists(st.tuples(lengths, *[lengths] * completions), min_size=2, max_size=5))
    return [tuple(ids.take(n) for n in shape) for shape in shapes]


# As of pairs, where a third completion is left out.
PAIRS = [
    ((3, 4), (5, 6), (7, 8, 9)),
    ((10,), (11, 12, 13), (14,)),
    ((15, 16), (17,), (18, 19)),
    ((20,), (21, 22), (23, 24, 25)),
    ((26,), (27, 28, 29), (30,)),
    ((31, 32), (33,), (34, 35)),
]


@st.composite
def answers(draw):
    """Two to six prompts, completions, and whether each is desirable."""
    ids = Ids(draw(seeds))
    shapes = draw(st.lists(st.tuples(lengths, lengths, st.booleans()), min_size=2, max_size=6))
    return [(ids.take(p), ids.take(c), good) for p, c, good in shapes]


@st.composite
def lessons(draw, end=()):
    """Answers that fill windows, and how these are split; `end` stands behind each completion."""
    windows, micro_batch, steps = draw(st.integers(1, 2)), draw(st.integers(1, 2)), draw(st.integers(1, 3))
    # What does not fill a generation is dropped.
    rows = windows * micro_batch * steps
    ids = Ids(draw(seeds))
    shapes = draw(st.lists(st.tuples(st.integers(1, 2), lengths), min_size=rows, max_size=rows))
    split = {"micro_batch": micro_batch, "gradient_accumulation_steps": steps}
    return [(ids.take(prompt), (*ids.take(completion), *end)) for prompt, completion in shapes], split


@st.composite
def rollouts(draw):
    """Groups of completions for one or two generations, and how they are split.

    Returns:
        prompts as (prompt, completions, rewards), and the arguments that split them.
    """
    ids = Ids(draw(seeds))
    micro_batch, steps, size = draw(st.sampled_from([(2, 1, 2), (2, 2, 2), (1, 2, 2), (3, 1, 3), (2, 3, 3), (2, 3, 2)]))
    per_generation = micro_batch * steps // size
    groups = []
    for number in range(draw(st.integers(1, 2)) * per_generation):
        # One of a generation is truncated at most, so that a micro-batch of two still scores something.
        ended = [number % per_generation > 0 or i > 0 or draw(st.booleans()) for i in range(size)]
        completions = [ids.take(draw(lengths)) + (2,) * end for end in ended]
        rewards = [draw(st.integers(-64, 64)) / 64 for _ in range(size)]
        groups.append((ids.take(1), completions, rewards))
    split = {
        "micro_batch": micro_batch,
        "steps_per_generation": steps,
        "gradient_accumulation_steps": draw(st.integers(1, 3)),
        "num_iterations": draw(st.integers(1, 2)),
        "mask_truncated_completions": micro_batch > 1 and draw(st.booleans()),
    }
    return groups, split


# As of rollouts: two groups, each one a generation that is trained on twice, with an end and without.
TWICE = (
    [((3,), [(4, 5, 2), (6, 7)], [1.0, 0.0]), ((8,), [(9, 2), (10, 11, 12)], [0.25, 0.75])],
    {
        "micro_batch": 2,
        "steps_per_generation": 1,
        "gradient_accumulation_steps": 1,
        "num_iterations": 2,
        "mask_truncated_completions": False,
    },
)


@st.composite
def rank_shapes(draw, max_length=7, min_accumulation=1, uneven=False):
    """A Shape whose rows fill as many micro-batches on each of two ranks; windows may be short at the end.

    With `uneven`, any number of rows: what is missing on a rank, accelerate fills up from the front.
    """
    micro_batch = draw(st.integers(1, 2))
    rows = draw(st.integers(2, 9)) if uneven else RANKS * micro_batch * draw(st.integers(1, 4))
    lengths = draw(st.lists(st.integers(2, max_length), min_size=rows, max_size=rows))
    marks = [draw(st.lists(st.booleans(), min_size=n - 1, max_size=n - 1)) for n in lengths]
    for row in marks:
        # Micro-batches are dealt to ranks and filled up, so each row brings a target.
        row[draw(st.integers(0, len(row) - 1))] = True
    accumulation = draw(st.integers(min_accumulation, 3))
    return Shape(tuple(lengths), tuple(map(tuple, marks)), micro_batch, accumulation, draw(st.integers(0, 2**16)))
