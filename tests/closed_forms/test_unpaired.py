"""Weights of KTO: known values, signs, and what the baseline does."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from closed_forms.unpaired import apo_zero_unpaired, kto, kto_baseline
from tests.closed_forms.tokens import seeds

LOG3 = math.log(3)
FORMS = {
    "kto": lambda u, d, beta: kto(u, d, beta, 0.5, 2.0, 3.0),
    "apo_zero_unpaired": lambda u, d, beta: apo_zero_unpaired(u, d, beta, 2.0, 3.0),
}
every_form = pytest.mark.parametrize("name", FORMS)


def draw(seed):
    """[b] log-ratios and marks of four completions."""
    rng = np.random.default_rng(seed)
    return rng.integers(-128, 129, 4) / 64, rng.integers(0, 2, 4)


def test_weights_redone_by_hand():
    weights = kto([1 + LOG3 / 2, 1, 1 - LOG3 / 2], [1, 0, 0], 2, 1, 4, 5)

    np.testing.assert_allclose(weights, [1 / 3 * 8 * 3 / 16, -1 / 3 * 10 / 4, -1 / 3 * 10 * 3 / 16], rtol=1e-14)


def test_both_sides_count_once_by_default():
    np.testing.assert_array_equal(kto([0.0, 0.0], [1, 0], 1, 0), [1 / 8, -1 / 8])
    np.testing.assert_array_equal(apo_zero_unpaired([0.0, 0.0], [1, 0], 1), [1 / 8, -1 / 8])


@given(seeds)
def test_without_a_baseline_both_types_agree(seed):
    u, desirable = draw(seed)

    np.testing.assert_array_equal(kto(u, desirable, 0.5, 0, 2, 3), apo_zero_unpaired(u, desirable, 0.5, 2, 3))


@every_form
@given(seed=seeds)
def test_desirable_completions_rise_and_others_fall(name, seed):
    u, desirable = draw(seed)

    np.testing.assert_array_equal(np.sign(FORMS[name](u, desirable, 0.5)), 2 * desirable - 1)


@every_form
@given(seed=seeds)
def test_turned_labels_turn_the_weights_by_their_factors(name, seed):
    u, desirable = draw(seed)

    turned = FORMS[name](u, 1 - desirable, 0.5) * np.where(desirable, 2 / 3, 3 / 2)
    np.testing.assert_allclose(FORMS[name](u, desirable, 0.5), -turned, rtol=1e-14)


@given(seeds, st.integers(0, 64))
def test_the_baseline_shifts_the_log_ratios(seed, n):
    u, desirable = draw(seed)

    np.testing.assert_array_equal(kto(u + n / 32, desirable, 0.5, n / 32), kto(u, desirable, 0.5, 0))


@every_form
@given(seed=seeds)
def test_doubling_the_batch_halves_every_weight(name, seed):
    u, desirable = draw(seed)

    twice = FORMS[name]([*u, *u], [*desirable, *desirable], 0.5)
    np.testing.assert_allclose(twice, np.tile(FORMS[name](u, desirable, 0.5), 2) / 2, rtol=1e-15)


def test_the_baseline_is_a_mean():
    assert kto_baseline([1.0, 4.0]) == 5 / 2


def test_a_negative_mean_gives_a_baseline_of_zero():
    assert kto_baseline([-1.0, 0.5]) == 0


@pytest.mark.parametrize("form", [*FORMS.values(), lambda u, d, beta: kto_baseline(u)])
@pytest.mark.parametrize("u", [[], 1.0, [[1.0]]], ids=str)
def test_log_ratios_are_a_list(form, u):
    with pytest.raises(ValueError, match=r"^log-ratios are one per completion, got .*: give a list with at least one$"):
        form(u, u, 1)


@pytest.mark.parametrize("form", [*FORMS.values(), lambda u, d, beta: kto_baseline(u)])
def test_log_ratios_are_finite(form):
    with pytest.raises(ValueError, match=r"^log-ratios must be finite, got nan"):
        form([math.nan], [1], 1)


@every_form
def test_completions_are_desirable_or_not(name):
    with pytest.raises(ValueError, match=r"^desirable holds 0 or 1 for each completion, got \[0.5\]: mark each$"):
        FORMS[name]([1], [0.5], 1)


@every_form
def test_every_completion_is_marked(name):
    with pytest.raises(ValueError, match=r"^desirable must have shape \[2\], got \[1\]"):
        FORMS[name]([1, 2], [1], 1)


@pytest.mark.parametrize("baseline", [-0.1, math.inf, math.nan])
def test_a_baseline_is_not_negative(baseline):
    with pytest.raises(ValueError, match=rf"^baseline is a divergence held at 0 or more, got baseline={baseline}$"):
        kto([1], [1], 1, baseline)


@pytest.mark.parametrize("name", ["beta", "gain", "loss"])
@pytest.mark.parametrize(
    "form", [lambda **o: kto([1], [1], baseline=0, **o), lambda **o: apo_zero_unpaired([1], [1], **o)]
)
def test_options_are_positive(form, name):
    with pytest.raises(ValueError, match=rf"^{name} must be positive and finite, got {name}=0$"):
        form(**{"beta": 1, "gain": 1, "loss": 1, name: 0})
