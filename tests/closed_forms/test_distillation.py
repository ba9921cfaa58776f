"""Pushes and weights of distillation: known values, what they sum to, and their limits."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from closed_forms.distillation import capped, iw_opd, jsd, over_words, sampled_token, top_k
from tests.closed_forms.tokens import draw_log_p, draw_mask, row_numbers, seeds, widths

LOG3 = math.log(3)
STUDENT, TEACHER = [[LOG3, 0.0]], [[0.0, 0.0]]  # 3/4 and 1/4 against 1/2 and 1/2
betas = st.sampled_from([0, 0.25, 0.5, 1])
# 60 roundings of 1.2e-16 on logarithms up to 16
ATOL = 1e-13


def draw_logits(seed):
    return np.random.default_rng(seed).integers(-64, 65, (2, 3, 5)) / 16


def test_forward_kl_is_a_cross_entropy_with_soft_labels():
    np.testing.assert_allclose(jsd(STUDENT, TEACHER, 0, 1), [[-1 / 4, 1 / 4]], atol=ATOL)


def test_reverse_kl_weighs_by_the_student():
    divergence = 3 / 4 * math.log(3 / 2) + 1 / 4 * math.log(1 / 2)
    push = -3 / 4 * (math.log(3 / 2) - divergence)

    np.testing.assert_allclose(jsd(STUDENT, TEACHER, 1, 1), [[push, -push]], atol=ATOL)


def test_jensen_shannon_compares_with_the_mixture():
    logs = math.log(3 / 4 * 16 / 9), math.log(1 / 4 * 16 / 7)  # mixture of 9/16 and 7/16 at beta = 3/4
    push = -1 / 4 * 3 / 4 * (logs[0] - 3 / 4 * logs[0] - 1 / 4 * logs[1])

    np.testing.assert_allclose(jsd(STUDENT, TEACHER, 3 / 4, 1), [[push, -push]], atol=ATOL)


@given(seeds, betas, st.sampled_from([0.5, 2]))
def test_temperature_scales_logits_and_push(seed, beta, temperature):
    student, teacher = draw_logits(seed)

    warm = jsd(student * temperature, teacher * temperature, beta, temperature)
    np.testing.assert_allclose(warm * temperature, jsd(student, teacher, beta, 1), atol=ATOL)


@given(seeds, betas)
def test_pushes_cancel_over_the_vocabulary(seed, beta):
    np.testing.assert_allclose(jsd(*draw_logits(seed), beta, 1).sum(1), 0, atol=ATOL)


@given(seeds, betas)
def test_nothing_is_learned_from_an_equal(seed, beta):
    student, _ = draw_logits(seed)

    np.testing.assert_allclose(jsd(student, student + 3, beta, 1), 0, atol=ATOL)


@given(seeds)
def test_towards_the_ends_the_push_vanishes_in_proportion(seed):
    student, teacher = draw_logits(seed) / 4
    tiny = 2.0**-20

    # The mixture is off by tiny times the largest ratio of both, e^2 at logits of at most 1 and at most 5 e^2 over p
    near_one, near_zero = (jsd(student, teacher, beta, 1) / tiny for beta in (1 - tiny, tiny))
    np.testing.assert_allclose(near_one, jsd(student, teacher, 1, 1), atol=2 * tiny * 5 * math.exp(2))
    np.testing.assert_allclose(near_zero, jsd(student, teacher, 0, 1), atol=2 * tiny * 5 * math.exp(2))


@pytest.mark.parametrize("student", [[1.0], [], np.zeros((0, 2)), np.zeros((1, 0))], ids=str)
def test_logits_are_rows(student):
    with pytest.raises(
        ValueError, match=r"^student must be rows of logits, got shape \[.*\]: give \[position, word\]$"
    ):
        jsd(student, student, 0.5, 1)


def test_both_vocabularies_are_one():
    with pytest.raises(ValueError, match=r"^teacher must have shape \[1, 2\], got \[1, 3\]"):
        jsd([[1, 2]], [[1, 2, 3]], 0.5, 1)


def test_logits_are_finite():
    with pytest.raises(ValueError, match=r"^student must be finite, got inf"):
        jsd([[1, math.inf]], [[1, 2]], 0.5, 1)


@pytest.mark.parametrize("beta", [-0.1, 1.1])
def test_the_mixture_has_a_share(beta):
    with pytest.raises(ValueError, match=rf"^beta must be one of 0 to 1, got beta={beta}$"):
        jsd(STUDENT, TEACHER, beta, 1)


def test_the_temperature_is_positive():
    with pytest.raises(ValueError, match=r"^temperature must be positive and finite, got temperature=0$"):
        jsd(STUDENT, TEACHER, 0.5, 0)


def test_two_words_of_three_are_renormalized():
    push = top_k([[LOG3, 0.0, -9.0]], [[0.0, 0.0, 9.0]], 0, 1, 2)

    np.testing.assert_allclose(push, [[-1 / 4, 1 / 4, 0]], atol=ATOL)


def test_a_tail_pulls_at_its_words_by_their_parts():
    # 3/6 against a tail of 1/6 and 2/6; the teacher gives 1/2 and 1/4, 1/4
    push = top_k(np.log([[3, 1, 2]]), np.log([[3 / 2, 1, 1]]), 0, 1, 1, True)

    g = (3 / 2) / (7 / 2) - 1 / 2
    np.testing.assert_allclose(push, [[g, -g / 3, -g * 2 / 3]], atol=ATOL)


@given(seeds, betas)
def test_all_words_are_the_vocabulary(seed, beta):
    student, teacher = draw_logits(seed)

    np.testing.assert_allclose(top_k(student, teacher, beta, 2, 5), jsd(student, teacher, beta, 2), atol=ATOL)


@given(seeds, betas, st.integers(1, 4), st.booleans())
def test_pushes_of_a_support_cancel(seed, beta, words, tail):
    np.testing.assert_allclose(top_k(*draw_logits(seed), beta, 1, words, tail).sum(1), 0, atol=ATOL)


@pytest.mark.parametrize(("words", "tail", "most"), [(0, False, 2), (3, False, 2), (2, True, 1)])
def test_a_support_is_part_of_the_vocabulary(words, tail, most):
    with pytest.raises(ValueError, match=rf"^words must be 1 to {most}, got words={words}: of logits of shape"):
        top_k(STUDENT, TEACHER, 0.5, 1, words, tail)


def test_each_position_has_words_of_its_own():
    # Of 3/6, 1/6 and 2/6 the first row keeps the last, the second both others; the teacher gives each a third.
    student, kept = np.log([[3, 1, 2], [3, 1, 2]]), [[0, 0, 1], [1, 1, 0]]
    push = over_words(student, np.zeros((2, 3)), 0, 1, kept, True)

    one, two, tail = 1 / 3 - 3 / 6, 1 / 3 - 1 / 6, 1 / 3 - 2 / 6
    np.testing.assert_allclose(push, [[-(1 / 3 - 2 / 6) * 3 / 4, 0, 0], [one, two, tail]], atol=ATOL)


@given(seeds, betas, st.booleans())
def test_words_that_the_student_likes_are_those_that_are_kept(seed, beta, tail):
    student, teacher = draw_logits(seed)
    kept = student >= np.sort(student)[:, 2:3]
    words = int(kept[0].sum())

    push = over_words(student[:1], teacher[:1], beta, 2, kept[:1], tail and words < 5)
    np.testing.assert_array_equal(push, top_k(student[:1], teacher[:1], beta, 2, words, tail and words < 5))


@pytest.mark.parametrize(("kept", "tail"), [([[0, 0]], False), ([[1, 1]], True), ([[1]], False), ([1, 0], False)])
def test_words_that_are_kept_are_part_of_the_vocabulary(kept, tail):
    with pytest.raises(ValueError, match=rf"^kept must have shape \[1, 2\] and 1 to {2 - tail} words in each row"):
        over_words(STUDENT, TEACHER, 0.5, 1, kept, tail)


def test_the_teacher_of_a_support_has_the_same_words():
    with pytest.raises(ValueError, match=r"^teacher must have shape \[1, 2\], got \[1, 3\]"):
        top_k(STUDENT, [[1, 2, 3]], 0.5, 1, 1)


def test_sampled_tokens_move_towards_the_teacher():
    weights = sampled_token([[-2, -1, 9]], [[-1, -3, 9]], [[-2, -1, 9]], [[1, 1, 0]])

    np.testing.assert_array_equal(weights, [[1, -2, 0]])


def test_sampled_tokens_are_corrected_up_to_a_cap():
    old = np.log([[1 / 2, 1 / 8, 1]]) - 5
    student = np.full((1, 3), math.log(1 / 2) - 5)

    np.testing.assert_allclose(sampled_token(student, student + 1, old, [[1, 1, 1]], 3), [[1, 3, 1 / 2]], rtol=1e-14)


def test_the_correction_is_held_at_both_ends():
    weights = sampled_token([[-1, -99]], [[0, -98]], [[-99, -1]], [[1, 1]])

    np.testing.assert_allclose(weights, [[math.exp(20), math.exp(-20)]], rtol=1e-14)


@given(seeds, row_numbers, widths)
def test_sampled_tokens_learn_nothing_from_an_equal(seed, rows, width):
    rng = np.random.default_rng(seed)
    student, old = draw_log_p(rng, rows, width), draw_log_p(rng, rows, width)

    np.testing.assert_array_equal(sampled_token(student, student, old, draw_mask(rng, rows, width)), 0 * student)


@pytest.mark.parametrize("cap", [0, -1, math.nan])
def test_the_cap_is_positive(cap):
    with pytest.raises(ValueError, match=rf"^cap must be positive, got cap={cap}: infinite for none$"):
        sampled_token([[0]], [[0]], [[0]], [[1]], cap)


def test_a_drift_is_held_between_its_bounds_and_the_cap():
    np.testing.assert_array_equal(capped([[0.0, 0.5, -30.0]], 1.25), [[1.0, 1.25, np.exp(-20.0)]])
    assert capped([30.0], math.inf) == np.exp(20.0)


def test_a_drift_is_finite():
    with pytest.raises(ValueError, match="drift"):
        capped([math.nan], 2.0)


def test_a_cap_below_one_is_allowed():
    np.testing.assert_array_equal(sampled_token([[0]], [[1]], [[0]], [[1]], 0.5), [[0.5]])


@pytest.mark.parametrize("name", ["student", "teacher", "old"])
def test_sampled_tokens_are_known(name):
    given = {"student": [[0.0]], "teacher": [[0.0]], "old": [[0.0]], name: [[math.nan]]}

    with pytest.raises(ValueError, match=rf"^{name} must be finite where the mask scores, got nan"):
        sampled_token(**given, mask=[[1]])


def test_early_tokens_count_more():
    weights = iw_opd([[1.0, 9, -2, 1]], [[0.0, 0, 0, 0]], [[1, 0, 1, 1]], 2, 1e-8)

    np.testing.assert_allclose(weights, [[3, 0, -2 * (1 + 2 * 3 / 4), 1 + 2 / 4]], rtol=1e-15)


def test_small_advantages_are_divided_by_no_less():
    np.testing.assert_array_equal(iw_opd([[1.0, 1.0]], [[0.0, 0.0]], [[1, 1]], 1, 8), [[2, 2 - 1 / 8]])


@given(seeds, row_numbers, widths)
def test_without_gamma_the_advantage_is_plain(seed, rows, width):
    rng = np.random.default_rng(seed)
    teacher, rollout, mask = draw_log_p(rng, rows, width), draw_log_p(rng, rows, width), draw_mask(rng, rows, width)

    np.testing.assert_array_equal(iw_opd(teacher, rollout, mask, 0, 1e-8), mask * (teacher - rollout))


@given(seeds, widths)
def test_rows_do_not_see_each_other(seed, width):
    rng = np.random.default_rng(seed)
    teacher, rollout, mask = draw_log_p(rng, 3, width), draw_log_p(rng, 3, width), draw_mask(rng, 3, width)

    alone = iw_opd(teacher[1:2], rollout[1:2], mask[1:2], 1, 1e-8)
    np.testing.assert_array_equal(iw_opd(teacher, rollout, mask, 1, 1e-8)[1:2], alone)


@pytest.mark.parametrize(("gamma", "tiny", "name"), [(-0.1, 1, "gamma"), (1, 0, "tiny")])
def test_options_of_iw_opd(gamma, tiny, name):
    with pytest.raises(ValueError, match=rf"^{name} must be "):
        iw_opd([[0]], [[0]], [[1]], gamma, tiny)


@pytest.mark.parametrize("name", ["teacher", "rollout"])
def test_advantages_are_known(name):
    given = {"teacher": [[0.0]], "rollout": [[0.0]], name: [[math.nan]]}

    with pytest.raises(ValueError, match=rf"^{name} must be finite where the mask scores, got nan"):
        iw_opd(**given, mask=[[1]], gamma=1, tiny=1)
