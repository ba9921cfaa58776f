"""ULD, a teacher of another tokenizer, against autograd of the loss as its paper and TRL write it."""

import numpy as np
import torch
from hypothesis import given
from hypothesis import strategies as st

from closed_forms import universal
from tests.closed_forms.tokens import seeds
from tests.objectives.autograd import assert_gradient, negative_gradient

merges = st.sampled_from(["first", "last"])
temperatures = st.sampled_from([0.5, 1, 2])
sizes = st.tuples(st.integers(4, 7), st.integers(4, 7))


def draw(seed, words):
    """Two rows of logits, the tokens, and which of them are compared: one with two, three with one, one with one."""
    rng = np.random.default_rng(seed)
    # No two numbers of a row are equal, so that none of the orders is a matter of chance.
    student = np.array([rng.permutation(32)[: words[0]] / 8 for _ in range(5)])
    teacher = np.array([rng.permutation(32)[: words[1]] / 8 for _ in range(4)]) + 1 / 64
    said = [rng.integers(0, n, 5).tolist() for n in words]
    return student, teacher, said, [([0], [0, 1]), ([1, 2, 3], [2]), ([4], [3])]


def product(p, said, group, merge):
    """The distribution of one group, by multiplying one at a time."""
    base = group[0] if merge == "first" else group[-1]
    out = p[base]
    for j in group:
        if j != base:
            out = out * p[j, said[j]]
    return out


def both(z, teacher, said, groups, merge, temperature):
    """[group] the distributions of student and teacher."""
    p, q = torch.softmax(z / temperature, 1), torch.softmax(torch.tensor(teacher), 1)
    return [(product(p, said[0], s, merge), product(q, said[1], t, merge)) for s, t in groups]


def far(a, b):
    """Sum of the differences of two sorted rows, the shorter one filled up with 0."""
    a, b = (torch.sort(x, descending=True).values for x in (a, b))
    width = max(len(a), len(b))
    return (torch.cat([a, a.new_zeros(width - len(a))]) - torch.cat([b, b.new_zeros(width - len(b))])).abs().sum()


def form(slope, student, teacher, said, groups, merge, temperature):
    """The push, from a slope of both merged."""
    p = [np.exp(z - np.log(np.exp(z).sum(1, keepdims=True))) for z in (student / temperature, teacher)]
    a, b = (universal.merged(x, y, [g[i] for g in groups], merge) for i, (x, y) in enumerate(zip(p, said)))
    return universal.through(slope(a, b), student, said[0], [s for s, _ in groups], merge, temperature)


@given(seeds, sizes, merges, temperatures)
def test_sorted_probabilities(seed, words, merge, temperature):
    student, teacher, said, groups = draw(seed, words)

    def loss(z):
        return sum(far(a, b) for a, b in both(z, teacher, said, groups, merge, temperature)) / len(groups)

    (gradient,) = negative_gradient(loss, student)
    push = form(universal.sorted_slope, student, teacher, said, groups, merge, temperature)
    assert_gradient(gradient, push, argument=4 / temperature, addend=1 / temperature)


@given(seeds, sizes, merges, temperatures, st.sampled_from([0, 0.25, 1]), st.sampled_from([(1.0, 0.0), (0.25, 0.5)]))
def test_hybrid(seed, words, merge, temperature, beta, weights):
    student, teacher, said, groups = draw(seed, words)
    pairs = [(0, 2), (3, 1), (2, 0)]
    others = [[v for v in range(n) if v not in side] for n, side in zip(words, zip(*pairs))]

    def kl(a, b):
        return (a * (torch.log(a) - torch.log(b))).sum()

    def loss(z):
        total = torch.zeros((), dtype=torch.float64)
        for a, b in both(z, teacher, said, groups, merge, temperature):
            p, q = (x[list(side)].clamp(min=1e-8) for x, side in zip((a, b), zip(*pairs)))
            m = (1 - beta) * p + beta * q
            d = kl(q, p) if beta == 0 else kl(p, q) if beta == 1 else beta * kl(q, m) + (1 - beta) * kl(p, m)
            total += weights[0] * d + weights[1] * far(a[others[0]], b[others[1]])
        return total / len(groups)

    def slope(a, b):
        return universal.hybrid_slope(a, b, pairs, beta, weights)

    (gradient,) = negative_gradient(loss, student)
    push = form(slope, student, teacher, said, groups, merge, temperature)
    assert_gradient(gradient, push, argument=24 / temperature, addend=24 / temperature)
