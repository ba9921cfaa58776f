"""Distillation against autograd: the JSD family, and what is learned from sampled tokens alone."""

import numpy as np
import torch
from hypothesis import given
from hypothesis import strategies as st

from closed_forms import distillation
from tests.closed_forms.tokens import draw_log_p, draw_mask, row_numbers, seeds, widths
from tests.objectives.autograd import assert_gradient, negative_gradient


@given(seeds, st.sampled_from([0, 0.125, 0.5, 0.875, 1]), st.sampled_from([0.5, 1, 2]))
def test_jsd(seed, beta, temperature):
    student, teacher = np.random.default_rng(seed).integers(-64, 65, (2, 4, 6)) / 16

    def kl(a, b):
        return (a * (torch.log(a) - torch.log(b))).sum()

    def loss(z):
        p, q = torch.softmax(z / temperature, 1), torch.softmax(torch.tensor(teacher) / temperature, 1)
        m = (1 - beta) * p + beta * q
        return kl(q, p) if beta == 0 else kl(p, q) if beta == 1 else beta * kl(q, m) + (1 - beta) * kl(p, m)

    (gradient,) = negative_gradient(loss, student)
    push = distillation.jsd(student, teacher, beta, temperature)
    assert_gradient(gradient, push, argument=16 / temperature, addend=40 / temperature)


@given(seeds, st.sampled_from([0, 0.25, 1]), st.sampled_from([1, 2]), st.integers(1, 5), st.booleans())
def test_top_k(seed, beta, temperature, words, tail):
    student, teacher = np.random.default_rng(seed).permuted(np.arange(24)).reshape(2, 2, 6) / 4
    support = torch.tensor(np.argsort(-student, 1)[:, :words])

    def over_support(z):
        p = torch.softmax(z / temperature, 1).gather(1, support)
        return torch.cat([p, 1 - p.sum(1, keepdim=True)], 1) if tail else p / p.sum(1, keepdim=True)

    def kl(a, b):
        return (a * (torch.log(a) - torch.log(b))).sum()

    def loss(z):
        p, q = over_support(z), over_support(torch.tensor(teacher))
        m = (1 - beta) * p + beta * q
        return kl(q, p) if beta == 0 else kl(p, q) if beta == 1 else beta * kl(q, m) + (1 - beta) * kl(p, m)

    (gradient,) = negative_gradient(loss, student)
    # 1 - sum p leaves as little as e^-6 / 6 of its addends
    assert_gradient(gradient, distillation.top_k(student, teacher, beta, temperature, words, tail), 6 * np.e**6, 12)


@given(seeds, st.sampled_from([0, 0.25, 1]), st.sampled_from([1, 2]), st.booleans())
def test_over_words(seed, beta, temperature, tail):
    rng = np.random.default_rng(seed)
    student, teacher = rng.permuted(np.arange(24)).reshape(2, 2, 6) / 4
    kept = rng.permuted([[1, 0, 0, 0, 0, 1], [1, 0, 1, 1, 0, 1]], axis=1).astype(bool)

    def kl(a, b):
        return (a * (torch.log(a) - torch.log(b))).sum()

    def loss(z):
        total = torch.zeros((), dtype=torch.float64)
        for row, other, words in zip(z, torch.tensor(teacher), torch.tensor(kept)):
            p, q = (torch.softmax(x / temperature, 0) for x in (row, other))
            p, q = (torch.cat([x[words], x[~words].sum()[None][: int(tail)]]) for x in (p, q))
            p, q = p / p.sum(), q / q.sum()
            m = (1 - beta) * p + beta * q
            total += kl(q, p) if beta == 0 else kl(p, q) if beta == 1 else beta * kl(q, m) + (1 - beta) * kl(p, m)
        return total

    (gradient,) = negative_gradient(loss, student)
    push = distillation.over_words(student, teacher, beta, temperature, kept, tail)
    assert_gradient(gradient, push, 6 * np.e**6, 12)


@given(seeds, row_numbers, widths, st.sampled_from([0.5, 2.0]))
def test_sampled_tokens(seed, rows, width, cap):
    rng = np.random.default_rng(seed)
    mask, (student, teacher, old) = draw_mask(rng, rows, width), draw_log_p(rng, 3, rows, width)

    def loss(p):
        ratio = torch.exp(p - torch.tensor(old)).clamp(max=cap).detach()
        return ((p - torch.tensor(teacher)).detach() * p * ratio * torch.tensor(mask)).sum()

    (gradient,) = negative_gradient(loss, student)
    assert_gradient(gradient, distillation.sampled_token(student, teacher, old, mask, cap), argument=2, addend=4)


@given(seeds, row_numbers, widths, st.sampled_from([0.0, 0.5, 2.0]))
def test_iw_opd(seed, rows, width, gamma):
    rng = np.random.default_rng(seed)
    mask, (student, teacher, rollout) = draw_mask(rng, rows, width), draw_log_p(rng, 3, rows, width)

    def loss(p):
        a = torch.where(torch.tensor(mask), torch.tensor(teacher - rollout), 0.0)
        before = torch.stack([a[:, :t].abs().sum(1) for t in range(width)], 1)
        total = a.abs().sum(1, keepdim=True).clamp(min=1e-8)
        return -(p * a * (1 + gamma * (1 - before / total))).sum()

    (gradient,) = negative_gradient(loss, student)
    assert_gradient(gradient, distillation.iw_opd(teacher, rollout, mask, gamma, 1e-8), argument=0, addend=10)


@given(seeds, st.sampled_from([0.0, 0.25, 1.0]), st.sampled_from([0.5, 2.0]))
def test_a_divergence_that_is_capped_at_the_sampled_token(seed, alpha, cap):
    rng = np.random.default_rng(seed)
    student, teacher, old = rng.integers(-8, 9, (3, 4, 5)) / 4
    said = rng.integers(0, 5, 4)

    def at(z):
        return torch.log_softmax(torch.as_tensor(z), 1)[np.arange(4), said]

    def loss(z):
        p, q = torch.softmax(z, 1), torch.softmax(torch.tensor(teacher), 1)
        m = (1 - alpha) * p + alpha * q
        each = q * (q / p).log() if alpha == 0 else p * (p / q).log()
        if 0 < alpha < 1:
            each = alpha * q * (q / m).log() + (1 - alpha) * p * (p / m).log()
        return (each.sum(1) * (at(z) - at(old)).exp().clamp(max=cap).detach()).sum()

    (gradient,) = negative_gradient(loss, student)
    factor = distillation.capped((at(student) - at(old)).numpy(), cap)
    assert_gradient(gradient, distillation.jsd(student, teacher, alpha, 1) * factor[:, None], argument=6, addend=12)
