"""Rows of students whose loss is put together wrongly, against autograd of that loss at the final hidden states."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from closed_forms import sampled_rows, served_rows, spelled_rows
from closed_forms.served_rows import Row
from closed_forms.spelled_rows import Known, Side
from tests.closed_forms.rows import assert_rows
from tests.closed_forms.tokens import draw_log_p, seeds
from tests.objectives.autograd import assert_gradient, negative_gradient

# Student and teacher spell the same ten bytes, and an end of sequence behind them: groups of 1 and 2, 3 and 1, 1 and 1.
ENDS = ([4, 5, 6, 7, 10, 11], [2, 4, 7, 10, 11])
GROUPS = [([0], [0, 1]), ([1, 2, 3], [2]), ([4], [3])]
KNOWN = Known([(0, 2), (3, 1), (2, 0)], 0.25, (0.75, 0.5))
STARTS = ((1, 2), (2, 1))


def draw(seed):
    """Two rows that both spell alike behind prompts of their own, the hidden states of the student, and its head."""
    rng = np.random.default_rng(seed)
    head = rng.integers(-8, 9, (6, 3)) / 8
    hidden = [rng.integers(-8, 9, (start + 5, 3)) / 8 for start, _ in STARTS]
    rows = []
    for h, (own, other) in zip(hidden, STARTS):
        # No two numbers of a row are equal, so that none of the orders is a matter of chance.
        teacher = np.array([rng.permutation(32)[:5] / 8 for _ in range(other + 4)]) + 1 / 64
        said = [rng.integers(0, n, len(ends)).tolist() for n, ends in zip((6, 5), ENDS)]
        rows.append((Side(h @ head.T, own, said[0], ENDS[0]), Side(teacher, other, said[1], ENDS[1])))
    return hidden, head, rows


def jsd(a, b):
    p, q = (x[:, list(side)].clamp(min=1e-8) for x, side in zip((a, b), zip(*KNOWN.pairs)))
    m = (1 - KNOWN.beta) * p + KNOWN.beta * q
    return (KNOWN.beta * q * (q / m).log() + (1 - KNOWN.beta) * p * (p / m).log()).sum()


def far(a, b):
    a, b = (
        x[:, [v for v in range(x.shape[1]) if v not in side]].sort(1, descending=True).values
        for x, side in zip((a, b), zip(*KNOWN.pairs))
    )
    return (a - torch.nn.functional.pad(b, (0, a.shape[1] - b.shape[1]))).abs().sum()


def chained(p, said, groups, base):
    """[g] the distribution at the first (0) or last (-1) token of a group, times what the others were."""
    rows = []
    for group in groups:
        row = p[group[base]]
        for j in group:
            if j != group[base]:
                row = row * p[j, said[j]]
        rows.append(row)
    return torch.stack(rows)


def multiplied(p, said, groups, base):
    rows = torch.stack([torch.stack([p[j] for j in group]).prod(0) for group in groups])
    return rows / rows.sum(1, keepdim=True)


def loss_of(rows, head, merge, base, before, groups):
    """Function of the hidden states of all rows."""

    def loss(*hidden):
        total = torch.zeros((), dtype=torch.float64)
        for h, (own, other) in zip(hidden, rows):
            both = []
            for k, (side, z) in enumerate(((own, h @ torch.tensor(head).T), (other, torch.tensor(other.logits)))):
                place = side.start - before
                p = torch.softmax(z[place : place + len(side.said) - 1], 1)
                both.append(merge(p, side.said, [g[k] for g in groups], base))
            total += (KNOWN.weights[0] * jsd(*both) + KNOWN.weights[1] * far(*both)) / len(groups)
        return total / len(rows)

    return loss


@pytest.mark.parametrize(
    "form, merge, base, before, groups",
    [
        (spelled_rows.merged_by_first, chained, 0, 1, GROUPS),
        (spelled_rows.compared_behind, chained, -1, 0, GROUPS),
        (spelled_rows.in_one_group, chained, -1, 1, [([0, 1, 2, 3, 4], [0, 1, 2, 3])]),
        (spelled_rows.multiplied_through, multiplied, -1, 1, GROUPS),
    ],
    ids=["first", "behind", "one", "multiplied"],
)
@given(seeds)
def test_a_distribution_that_is_put_together_wrongly(form, merge, base, before, groups, seed):
    hidden, head, rows = draw(seed)
    right = negative_gradient(loss_of(rows, head, chained, -1, 1, GROUPS), *hidden)
    wrong = negative_gradient(loss_of(rows, head, merge, base, before, groups), *hidden)
    weights = form(rows, head, KNOWN)

    one = np.linalg.norm(head, axis=1).max()
    for w, x, u, (own, _) in zip(weights, wrong, right, rows):
        inside = np.arange(len(x)) - own.start + 1
        inside = (inside >= 0) & (inside < 5)
        # Both multiplied by what the weight was divided by, which may be small.
        unit, along = (u**2).sum(1), (x * u).sum(1)
        assert_gradient(along[inside], (w * unit)[inside], argument=12, addend=36)
        assert_gradient(np.linalg.norm(x, axis=1)[~inside], w[~inside] * one, argument=12, addend=36)


@given(seeds)
def test_a_right_distribution_weighs_one(seed):
    _, _, rows = draw(seed)

    expected = [[0.0] * (own.start - 1) + [1.0] * 5 + [0.0] for own, _ in rows]
    assert_rows(spelled_rows.spelled(rows), expected)


@pytest.mark.parametrize("form", [served_rows.rest_left_out, served_rows.taught_at_one])
@given(seeds, st.sampled_from([0.5, 2.0]), st.integers(1, 3))
def test_a_server_that_is_used_wrongly(form, seed, temperature, words):
    rng = np.random.default_rng(seed)
    head = rng.integers(-8, 9, (6, 3)) / 8
    hidden = [rng.integers(-8, 9, (n, 3)) / 8 for n in (2, 3)]
    masks = [[0, 1], [1, 1, 0]]
    teachers = [np.array([rng.permutation(32)[:6] / 8 for _ in h]) for h in hidden]
    rows = [Row(h @ head.T, q, mask) for h, q, mask in zip(hidden, teachers, masks)]

    def bucket(p, kept):
        return torch.cat([p[kept], p[~kept].sum()[None]])

    def loss(wrong):
        def total(*hidden):
            out = torch.zeros((), dtype=torch.float64)
            for h, row in zip(hidden, rows):
                for z, q in zip(h @ torch.tensor(head).T, torch.tensor(row.teacher)):
                    kept = q >= q.sort(descending=True).values[words - 1]
                    p, at = torch.softmax(z / temperature, 0), temperature
                    if wrong and form is served_rows.taught_at_one:
                        at = 1.0
                    q = torch.softmax(q / at, 0)
                    if wrong and form is served_rows.rest_left_out:
                        p, q = p[kept], q[kept]
                    else:
                        p, q = bucket(p, kept), bucket(q, kept)
                    out += (q * (q / p).log()).sum()
            return out

        return total

    right, wrong = (negative_gradient(loss(n), *hidden) for n in (False, True))
    for w, mask, x, u in zip(form(rows, head, words, temperature), masks, wrong, right):
        along = (x * u).sum(1) * mask / 3
        assert_gradient(along, w * (u**2).sum(1), argument=12 / temperature, addend=36 / temperature**2)


def test_what_a_server_is_asked_for_shares_one():
    rows = [Row(np.zeros((2, 2)), np.zeros((2, 2)), mask) for mask in ([0, 1], [1, 1])]

    assert_rows(served_rows.scored(rows), [[0, 1 / 3], [1 / 3, 1 / 3]])


@given(seeds, st.sampled_from([0.0, 0.5]))
def test_scores_one_late(seed, gamma):
    policy, teacher = draw_log_p(np.random.default_rng(seed), 2, 1, 2, 4)
    masks = [[[0, 1, 1, 1], [1, 1]]]

    def weights(row, scores):
        a = [s - p for s, p in zip(scores, row)]
        total = max(sum(map(abs, a)), 1e-8)
        return [x * (1 + gamma * (1 - sum(map(abs, a[:t])) / total)) / 5 for t, x in enumerate(a)]

    (p, r), (q, s) = policy[0].tolist(), teacher[0].tolist()
    right = [[0, *weights(p[1:], q[1:])], weights(r[:2], s[:2])]
    late = [[0, *weights(p[1:], [0, q[1], q[2]])], weights(r[:2], [0, s[0]])]
    assert_rows(sampled_rows.sampled_early(masks, policy, teacher, gamma), right)
    assert_rows(sampled_rows.sampled_late(masks, policy, teacher, gamma), late)
