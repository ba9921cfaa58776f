"""The tolerance of a measured weight: exact values, and measured errors in simulated precisions."""

import math

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from closed_forms.rounding import smallest, unit_roundoff, weight_tolerance
from tests.closed_forms.simulated_reading import amplification, draw, hidden_gradients, logit_gradients, project

DTYPES = {"float16": np.float16, "float32": np.float32, "float64": np.float64}
seeds = st.integers(0, 2**32 - 1)
vocabularies = st.integers(2, 400)
hidden_sizes = st.integers(2, 16)
spreads = st.sampled_from([0, 0.01, 1, 5, 10])
commons = st.sampled_from([0, 1, 10])
margins = st.integers(0, 10)


@pytest.mark.parametrize("dtype", DTYPES)
def test_half_an_ulp_is_the_unit_roundoff(dtype):
    assert unit_roundoff(dtype) == np.finfo(dtype).eps / 2


@pytest.mark.parametrize("dtype", DTYPES)
def test_nothing_lies_between_the_smallest_number_and_zero(dtype):
    kind = np.dtype(dtype).type

    assert kind(smallest(dtype)) == np.nextafter(kind(0), kind(1)) == np.finfo(dtype).smallest_subnormal


def test_the_smallest_number_of_no_type_is_refused():
    with pytest.raises(ValueError, match="no smallest number for dtype='int8': give one of float64, float32"):
        smallest("int8")


def test_bfloat16_has_eight_significant_bits():
    assert unit_roundoff("bfloat16") == 1 / 256


def test_unknown_dtype_is_refused_with_the_choices():
    rule = r"^no unit roundoff for dtype='int8': give one of float64, float32, float16, bfloat16$"

    with pytest.raises(ValueError, match=rule):
        unit_roundoff("int8")


def test_loss_precision_enters_as_derived():
    tolerance = weight_tolerance(16, "bfloat16", "float64", [1, 5 / 2])

    softmax = (12 * math.log(2) + 4 + 13) / 256
    np.testing.assert_allclose(tolerance, [2 * softmax, 5 * softmax], rtol=1e-12)


def test_work_precision_enters_as_derived():
    tolerance = weight_tolerance(16, "float64", "bfloat16", [1, 5 / 2])

    head = 4 * (2 * 4 + 1) / 256
    np.testing.assert_allclose(tolerance, [2 * head, 5 * head], rtol=1e-12)


def test_accumulation_enters_as_a_square_root():
    tolerance = weight_tolerance(16, "float64", "bfloat16", 1, accumulated=9)

    np.testing.assert_allclose(tolerance, 2 * 4 * (2 * 4 + 3) / 256, rtol=1e-12)


@pytest.mark.parametrize("shape", [(), (0,), (3,), (2, 3)], ids=str)
def test_tolerance_has_the_shape_of_the_amplification(shape):
    tolerance = weight_tolerance(8, "float32", "float32", np.ones(shape, dtype=np.float32))

    assert (type(tolerance), tolerance.dtype, tolerance.shape) == (np.ndarray, np.float64, shape)


def test_half_precision_amplification_does_not_overflow():
    large = np.array([60000], dtype=np.float16)

    expected = weight_tolerance(8, "float32", "float32", [60000])
    np.testing.assert_array_equal(weight_tolerance(8, "float32", "float32", large), expected)


@given(seeds, vocabularies, hidden_sizes, spreads, commons, margins, st.sampled_from([*DTYPES]), st.booleans())
@example(0, 400, 16, 0, 10, 10, "float64", False)
def test_rounding_stays_inside_the_tolerance(seed, vocab, hidden, spread, common, margin, work, exact_unit):
    z_tv, y_t, j_vh = draw(seed, vocab, hidden, spread, common, margin)
    d_tv = logit_gradients(z_tv, y_t, np.float32)

    g_th = hidden_gradients(d_tv * (np.float32(1) / np.float32(7)), j_vh, DTYPES[work])
    r_th = hidden_gradients(logit_gradients(z_tv, y_t, np.float64), j_vh, np.float64)
    r_th = r_th if exact_unit else hidden_gradients(d_tv, j_vh, DTYPES[work])

    tolerance = weight_tolerance(vocab, "float32", work, amplification(z_tv, y_t, j_vh))
    np.testing.assert_array_less(np.abs(7 * project(g_th, r_th) - 1), tolerance)


@given(seeds, vocabularies, hidden_sizes, spreads, commons, margins, st.integers(2, 40))
def test_added_contributions_stay_inside_the_tolerance(seed, vocab, hidden, spread, common, margin, accumulated):
    z_tv, y_t, j_vh = draw(seed, vocab, hidden, spread, common, margin)
    d_tv = logit_gradients(z_tv, y_t, np.float64)
    weights = np.random.default_rng(seed).uniform(0.1, 1, accumulated)

    parts = [hidden_gradients(w * d_tv, j_vh, np.float32).astype(np.float32) for w in weights]
    g_th = np.cumsum(parts, axis=0, dtype=np.float32)[-1].astype(np.float64)
    w_t = project(g_th, hidden_gradients(d_tv, j_vh, np.float64))

    tolerance = weight_tolerance(vocab, "float64", "float32", amplification(z_tv, y_t, j_vh), accumulated)
    np.testing.assert_array_less(np.abs(w_t / weights.sum() - 1), tolerance)


@given(seeds, vocabularies, st.sampled_from([0, 0.01, 1]), st.integers(0, 2))
def test_one_percent_lies_outside_the_float32_tolerance(seed, vocab, spread, margin):
    z_tv, y_t, j_vh = draw(seed, vocab, 16, spread, 0, margin)
    d_tv = logit_gradients(z_tv, y_t, np.float32)

    g_th = hidden_gradients(d_tv * np.float32(1.01 / 7), j_vh, np.float32)
    r_th = hidden_gradients(d_tv, j_vh, np.float32)

    tolerance = weight_tolerance(vocab, "float32", "float32", amplification(z_tv, y_t, j_vh))
    np.testing.assert_array_less(tolerance, np.abs(7 * project(g_th, r_th) - 1))


def test_one_dominant_logit_exceeds_a_square_root_law():
    vocab = 16384
    z_tv = np.zeros((1, vocab))
    z_tv[0, 0] = 17
    y_t = np.array([1])
    j_vh = np.ones((vocab, 1))
    j_vh[0] = 0.5

    g_th = hidden_gradients(logit_gradients(z_tv, y_t, np.float32), j_vh, np.float64)
    r_th = hidden_gradients(logit_gradients(z_tv, y_t, np.float64), j_vh, np.float64)
    error = np.abs(project(g_th, r_th) - 1)

    a_t = amplification(z_tv, y_t, j_vh)
    law = 2 * a_t * (3 * math.log(vocab) + 4 * math.sqrt(vocab) + 13) * 2.0**-24
    np.testing.assert_array_less(law, error)
    np.testing.assert_array_less(error, weight_tolerance(vocab, "float32", "float64", a_t))


@pytest.mark.parametrize("vocab", [1, 0, -3, math.nan])
def test_vocabulary_of_one_is_refused(vocab):
    with pytest.raises(ValueError, match=rf"^vocab must be at least 2, got vocab={vocab}$"):
        weight_tolerance(vocab, "float32", "float32", [1])


def test_vocabulary_of_two_is_enough():
    assert weight_tolerance(2, "float64", "float64", 1) > 0


@pytest.mark.parametrize("accumulated", [0, -1])
def test_nothing_accumulated_is_refused(accumulated):
    with pytest.raises(ValueError, match=rf"^accumulated must be at least 1, got accumulated={accumulated}$"):
        weight_tolerance(8, "float32", "float32", [1], accumulated)


@pytest.mark.parametrize("bad", [0.0, -1.0, math.inf, math.nan])
def test_amplification_must_be_positive_and_finite(bad):
    rule = rf"^amplification must be positive and finite, got {bad}: leave out tokens with a zero gradient$"

    with pytest.raises(ValueError, match=rule):
        weight_tolerance(8, "float32", "float32", [1, bad, 2])


@pytest.mark.parametrize("dtypes", [("int8", "float32"), ("float32", "int8")])
def test_either_dtype_must_be_known(dtypes):
    with pytest.raises(ValueError, match="no unit roundoff for dtype='int8'"):
        weight_tolerance(8, *dtypes, [1])
