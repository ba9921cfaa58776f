"""How DPO's scores are formed and its weights shared out, on rows small enough to redo by hand."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from closed_forms import divergences, dpo, preference, preference_sides
from tests.closed_forms.tokens import draw_mask, row_numbers, seeds, widths

NAMES = ["reverse_kl", "forward_kl", "js_divergence", "alpha_divergence"]
every_divergence = pytest.mark.parametrize("divergence", NAMES)
ON_SCORES = ["sigmoid", "hinge", "ipo", "robust", "exo_pair", "discopop", "sigmoid_norm"]
ON_RATIOS = ["nca_pair", "bco_pair", "sppo_hard", "aot", "aot_unpaired", "apo_zero", "apo_down"]


@pytest.mark.parametrize(
    ("divergence", "score", "slope"),
    [
        ("reverse_kl", math.log(4), 1),
        ("forward_kl", 3 / 4, 1 / 4),
        ("js_divergence", math.log(8 / 5), 1 / 5),
        ("alpha_divergence", 1, 1 / 2),
    ],
)
def test_a_ratio_of_four(divergence, score, slope):
    u = [math.log(4)]

    np.testing.assert_allclose(divergences.score(u, divergence), [score], rtol=1e-15)
    np.testing.assert_allclose(divergences.slope(u, divergence), [slope], rtol=1e-15)


@every_divergence
def test_an_unmoved_policy_scores_zero(divergence):
    np.testing.assert_allclose(divergences.score([0.0], divergence), [0], atol=2e-16)


@every_divergence
def test_half_precision_does_not_stay(divergence):
    u = np.array([1.1], dtype=np.float16)

    np.testing.assert_array_equal(divergences.score(u, divergence), divergences.score([float(u[0])], divergence))
    np.testing.assert_array_equal(divergences.slope(u, divergence), divergences.slope([float(u[0])], divergence))


@given(st.integers(-128, 128))
def test_alpha_of_one_is_reverse_kl(n):
    u = [n / 64]

    np.testing.assert_array_equal(divergences.score(u, "alpha_divergence", 1), u)
    np.testing.assert_array_equal(divergences.slope(u, "alpha_divergence", 1), [1])


@given(st.integers(-128, 128))
def test_alpha_of_zero_is_forward_kl(n):
    u = [n / 64]

    np.testing.assert_array_equal(
        divergences.score(u, "alpha_divergence", 0), divergences.score(u, "forward_kl", math.nan)
    )
    np.testing.assert_array_equal(divergences.slope(u, "alpha_divergence", 0), divergences.slope(u, "forward_kl"))


@pytest.mark.parametrize("form", [lambda d: divergences.score([1], d), lambda d: divergences.slope([1], d)])
def test_unknown_divergences_are_refused(form):
    with pytest.raises(ValueError, match=rf"^no divergence='kl': give one of {', '.join(NAMES)}$"):
        form("kl")


def test_log_ratio_sums_over_the_scored_tokens():
    ratio = dpo.log_ratio([[-1, -2, math.nan]], [[-3, -5, math.inf]], [[1, 0.5, 0]])

    np.testing.assert_array_equal(ratio, [2 + 3 / 2])


def test_the_reference_must_fit():
    with pytest.raises(ValueError, match=r"^reference must have shape \[1, 2\], got \[1, 1\]"):
        dpo.log_ratio([[1, 2]], [[1]], [[1, 1]])


def test_the_policy_must_fit():
    with pytest.raises(ValueError, match=r"^log_p must be finite where the mask scores, got nan"):
        dpo.log_ratio([[1, math.nan]], [[1, 1]], [[1, 1]])


def test_factors_are_numbers():
    with pytest.raises(ValueError, match=r"^factors must be finite, got inf"):
        dpo.log_ratio([[1, 1]], [[1, 1]], [[1, math.inf]])


def test_tokens_past_the_shorter_completion_count_less():
    chosen, rejected = dpo.length_desensitized([[0, 1, 1, 1], [1, 0, 0, 0]], [[1, 0, 1], [1, 1, 1]], 1 / 4)

    np.testing.assert_array_equal(chosen, [[0, 1, 1, 1 / 4], [1, 0, 0, 0]])
    np.testing.assert_array_equal(rejected, [[1, 0, 1], [1, 1 / 4, 1 / 4]])


@given(seeds, row_numbers, widths)
def test_an_ld_alpha_of_one_gives_the_masks(seed, rows, width):
    rng = np.random.default_rng(seed)
    masks = draw_mask(rng, rows, width), draw_mask(rng, rows, width)

    np.testing.assert_array_equal(masks, dpo.length_desensitized(*masks, 1))


@given(seeds, row_numbers, widths)
def test_an_ld_alpha_of_zero_levels_the_lengths(seed, rows, width):
    rng = np.random.default_rng(seed)
    masks = draw_mask(rng, rows, width), draw_mask(rng, rows, width)
    chosen, rejected = dpo.length_desensitized(*masks, 0)

    np.testing.assert_array_equal(chosen.sum(1), rejected.sum(1))


def test_both_sides_have_a_row_per_pair():
    rule = r"^chosen and rejected need one row per pair, got 1 and 2: drop the odd ones$"

    with pytest.raises(ValueError, match=rule):
        dpo.length_desensitized([[1]], [[1], [1]], 1)


@pytest.mark.parametrize(("chosen", "rejected", "name"), [([[2]], [[1]], "chosen"), ([[1]], [[2]], "rejected")])
def test_the_wrong_mask_is_named(chosen, rejected, name):
    with pytest.raises(ValueError, match=rf"^{name} holds 0 or 1"):
        dpo.length_desensitized(chosen, rejected, 1)


@pytest.mark.parametrize("ld_alpha", [-0.1, 1.1])
def test_ld_alpha_is_a_share(ld_alpha):
    with pytest.raises(ValueError, match=rf"^ld_alpha must be one of 0 to 1, got ld_alpha={ld_alpha}$"):
        dpo.length_desensitized([[1]], [[1]], ld_alpha)


@pytest.mark.parametrize("loss_type", ["ipo", "sigmoid_norm"])
def test_these_losses_compare_means(loss_type):
    x, slope = dpo.completion_score(loss_type, [3, -4], [2, 1])

    np.testing.assert_array_equal([x, slope], [[3 / 2, -4], [1 / 2, 1]])


@pytest.mark.parametrize("loss_type", ["sigmoid", "hinge", "robust", "exo_pair", "discopop", *ON_RATIOS])
def test_these_losses_compare_sums(loss_type):
    x, slope = dpo.completion_score(loss_type, [3, -4], [2, 1])

    np.testing.assert_array_equal([x, slope], [[3, -4], [1, 1]])


@pytest.mark.parametrize("loss_type", ON_SCORES)
def test_these_losses_take_the_divergence(loss_type):
    x, slope = dpo.completion_score(loss_type, [math.log(4)], [1], "alpha_divergence", 3 / 2)

    np.testing.assert_allclose([x, slope], [[2], [2]], rtol=1e-15)


@pytest.mark.parametrize("loss_type", ON_RATIOS)
def test_these_losses_refuse_other_divergences(loss_type):
    rule = rf"^{loss_type} has no f-divergence but reverse_kl, got 'forward_kl': TRL refuses it too$"

    with pytest.raises(ValueError, match=rule):
        dpo.completion_score(loss_type, [3.0], [2], "forward_kl")


def test_a_completion_without_tokens_has_no_score():
    with pytest.raises(
        ValueError, match=r"^every completion needs a token, got lengths=\[0, 1\]: leave such pairs out$"
    ):
        dpo.completion_score("ipo", [1, 2], [0, 1])


def test_every_completion_has_a_length():
    with pytest.raises(ValueError, match=r"^lengths must have shape \[2\], got \[1\]"):
        dpo.completion_score("ipo", [1, 2], [1])


def test_ratios_are_finite():
    with pytest.raises(ValueError, match=r"^u must be finite, got nan"):
        dpo.completion_score("ipo", [math.nan], [1])


def test_sft_has_no_score():
    with pytest.raises(ValueError, match=r"^no loss_type='sft': give one of sigmoid, hinge, ipo, .*, apo_down$"):
        dpo.completion_score("sft", [1], [1])


@pytest.mark.parametrize(
    ("loss_type", "form"),
    [
        ("sigmoid", lambda x, y: preference.sigmoid(x, y, 2)),
        ("sigmoid_norm", lambda x, y: preference.sigmoid(x, y, 2)),
        ("hinge", lambda x, y: preference.hinge(x, y, 2)),
        ("ipo", lambda x, y: preference.ipo(x, y, 2)),
        ("robust", lambda x, y: preference.robust(x, y, 2, 0.25)),
        ("exo_pair", lambda x, y: preference.exo_pair(x, y, 2, 0.25)),
        ("discopop", lambda x, y: preference.discopop(x, y, 2, 0.5)),
        ("aot_unpaired", lambda x, y: preference.aot_unpaired(x, y, 2, 0.25)),
        ("nca_pair", lambda x, y: preference_sides.nca_pair(x, y, 2)),
        ("bco_pair", lambda x, y: preference_sides.bco_pair(x, y, 2)),
        ("sppo_hard", lambda x, y: preference_sides.sppo_hard(x, y, 2)),
        ("apo_zero", lambda x, y: preference_sides.apo_zero(x, y, 2)),
        ("apo_down", lambda x, y: preference_sides.apo_down(x, y, 2)),
    ],
)
def test_a_name_means_its_form(loss_type, form):
    x, y = [0.5, -1], [0.25, 0.5]

    np.testing.assert_array_equal(form(x, y), dpo.pair_weights(loss_type, x, y, 2, epsilon=0.25, tau=0.5))


def test_trl_smooths_no_labels_by_default():
    np.testing.assert_array_equal(preference.robust([1], [2], 2, 0), dpo.pair_weights("robust", [1], [2], 2))


def test_trl_blends_at_a_temperature_of_a_twentieth():
    np.testing.assert_array_equal(
        preference.discopop([1], [1.02], 2, 0.05), dpo.pair_weights("discopop", [1], [1.02], 2)
    )


def test_trl_takes_a_root_as_alpha_divergence():
    assert divergences.score([2.0], "alpha_divergence") == divergences.score([2.0], "alpha_divergence", 0.5)
    assert divergences.slope([2.0], "alpha_divergence") == divergences.slope([2.0], "alpha_divergence", 0.5)
    x, slope = dpo.completion_score("sigmoid", [math.log(4)], [1], "alpha_divergence")
    np.testing.assert_allclose([x, slope], [[1], [1 / 2]], rtol=1e-15)


@pytest.mark.parametrize("loss_type", ["aot", "sft", "kto"])
def test_losses_that_compare_no_pairs_of_scores_are_refused(loss_type):
    with pytest.raises(ValueError, match=rf"^no loss_type='{loss_type}': give one of sigmoid, sigmoid_norm, hinge"):
        dpo.pair_weights(loss_type, [1], [2], 1)


def test_wpo_favours_likely_completions():
    factor = dpo.wpo_factor(np.log([[1 / 4, 1 / 2, 1]]), np.log([[1 / 2, 1 / 8, 1]]), [[1, 1, 0]])

    np.testing.assert_allclose(factor, [math.sqrt(1 / 2 * 4)], rtol=1e-15)


def test_wpo_needs_the_squares_where_it_needs_the_tokens():
    with pytest.raises(ValueError, match=r"^log_sum_square must have shape \[1, 2\], got \[1, 1\]"):
        dpo.wpo_factor([[0, 0]], [[0]], [[1, 1]])


def test_wpo_needs_finite_log_probabilities():
    with pytest.raises(ValueError, match=r"^log_p must be finite where the mask scores, got -inf"):
        dpo.wpo_factor([[0, -math.inf]], [[0, 0]], [[1, 1]])


def test_sft_divides_by_all_chosen_tokens():
    np.testing.assert_array_equal(dpo.sft([[1, 1], [0, 1]]), [[1 / 3, 1 / 3], [0, 1 / 3]])


def test_sft_allows_a_row_without_tokens():
    np.testing.assert_array_equal(dpo.sft([[1, 1], [0, 0]]), [[1 / 2, 1 / 2], [0, 0]])


def test_sft_needs_a_token():
    rule = r"^chosen needs a scored token to divide by, got a mask of 0: leave the micro-batch out$"

    with pytest.raises(ValueError, match=rule):
        dpo.sft([[0, 0]])


def test_sft_needs_a_mask():
    with pytest.raises(ValueError, match=r"^chosen holds 0 or 1"):
        dpo.sft([2])
