"""The readout finds the weights that a gradient was built with, and says when nobody could."""

import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from instrument.readout import Weights, read_weights, solve_weights, unexplained, with_uniform

seeds = st.integers(0, 2**32 - 1)
weights = st.one_of(st.floats(1e-6, 1e6), st.floats(-1e6, -1e-6))


def normal(seed, *shape):
    """Directions in general position."""
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def orthogonal_to(direction_nh, seed):
    """[n, h] vectors of the same lengths, at right angles."""
    other_nh = normal(seed, *direction_nh.shape)
    square_n = (direction_nh * direction_nh).sum(-1, keepdim=True)
    other_nh -= (other_nh * direction_nh).sum(-1, keepdim=True) / square_n * direction_nh
    return other_nh * square_n.sqrt() / other_nh.norm(dim=-1, keepdim=True)


@given(seeds, st.lists(weights, min_size=1, max_size=5))
def test_a_gradient_is_read_as_the_weight_it_was_built_with(seed, built_n):
    unit_nh = normal(seed, len(built_n), 8)

    read = read_weights(torch.tensor(built_n, dtype=torch.float64)[:, None] * unit_nh, unit_nh)

    np.testing.assert_allclose(read.weight, built_n, rtol=1e-13)
    np.testing.assert_allclose(read.cosine, np.sign(built_n), rtol=1e-13)
    np.testing.assert_array_less(read.remainder, 1e-13 * np.abs(built_n))


@given(seeds, weights, st.floats(1e-3, 1e3))
def test_a_weight_does_not_depend_on_the_size_of_the_gradients(seed, built, size):
    unit_nh = size * normal(seed, 1, 8)

    read = read_weights(built * unit_nh, unit_nh)

    np.testing.assert_allclose(read.weight, [built], rtol=1e-13)


@given(seeds, weights, st.floats(0.01, 100))
def test_the_remainder_is_in_the_unit_of_the_weight(seed, built, left):
    unit_nh = normal(seed, 3, 8)

    read = read_weights(built * unit_nh + left * orthogonal_to(unit_nh, seed + 1), unit_nh)

    np.testing.assert_allclose(read.weight, [built] * 3, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(read.remainder, [left] * 3, rtol=1e-6)
    np.testing.assert_allclose(read.cosine, [built / math.hypot(built, left)] * 3, rtol=1e-6)


def test_no_gradient_weighs_exactly_nothing():
    read = read_weights(torch.zeros(2, 8), normal(0, 2, 8))

    assert [0.0, 0.0] == read.weight.tolist()
    assert [0.0, 0.0] == read.remainder.tolist()
    assert read.cosine.isnan().all()


def test_a_target_without_a_direction_has_no_weight():
    read = read_weights(normal(0, 1, 8), torch.zeros(1, 8))

    assert read.weight.isnan().all()


def test_float32_gradients_are_read_in_float64():
    unit_nh = torch.full((1, 4096), 1.0 + 2.0**-12)

    read = read_weights(unit_nh, unit_nh)

    assert torch.float64 == read.weight.dtype
    np.testing.assert_allclose(read.weight, [1.0], rtol=1e-15)


@given(seeds, st.data())
def test_targets_of_one_input_are_told_apart(seed, data):
    built_k = data.draw(st.lists(weights, min_size=2, max_size=7))
    unit_kh = normal(seed, len(built_k), 16)
    built_k = [
        w / n for w, n in zip(np.array(built_k) / np.abs(built_k).max() + np.sign(built_k), unit_kh.norm(dim=-1))
    ]

    solved = solve_weights(torch.tensor(built_k, dtype=torch.float64) @ unit_kh, unit_kh)

    np.testing.assert_allclose(solved.weight, built_k, rtol=1e-12 * solved.condition)
    assert solved.cosine == pytest.approx(1, abs=1e-12)
    assert solved.remainder <= 1e-12


@given(seeds)
def test_a_target_without_weight_weighs_exactly_nothing_beside_others(seed):
    unit_kh = normal(seed, 3, 16)
    gradient_h = (unit_kh[0] + unit_kh[2]).float() / 7

    solved = solve_weights(gradient_h, unit_kh)

    assert solved.weight[1] == 0
    np.testing.assert_allclose(solved.weight[[0, 2]], [1 / 7, 1 / 7], rtol=1e-6 * solved.condition)


def test_an_input_without_gradient_weighs_exactly_nothing():
    solved = solve_weights(torch.zeros(16), normal(0, 3, 16))

    assert [0.0, 0.0, 0.0] == solved.weight.tolist()
    assert math.isnan(solved.cosine)
    assert solved.remainder == 0


def test_the_remainder_of_several_targets_is_in_the_unit_of_a_weight():
    unit_kh = torch.diag(torch.tensor([3.0, 4.0, 0.0, 0.0]))[:2]

    solved = solve_weights(torch.tensor([3.0, 8.0, 0.0, 5.0]), unit_kh)

    np.testing.assert_allclose(solved.weight, [1, 2])
    np.testing.assert_allclose(solved.remainder, 5 / math.sqrt((3**2 + 4**2) / 2))
    np.testing.assert_allclose(solved.cosine, math.sqrt((9 + 64) / (9 + 64 + 25)))


@pytest.mark.parametrize("cosine", [0.0, 0.6, -0.6, 0.99])
def test_the_condition_number_depends_on_the_angle_alone(cosine):
    unit_kh = torch.tensor([[1e-3, 0.0, 0.0], [1e3 * cosine, 1e3 * math.sqrt(1 - cosine**2), 0.0]], dtype=torch.float64)

    solved = solve_weights(unit_kh.sum(0), unit_kh)

    # Singular values of two directions of length 1: sqrt(1 + |cos|) and sqrt(1 - |cos|).
    assert solved.condition == pytest.approx(math.sqrt((1 + abs(cosine)) / (1 - abs(cosine))))


def test_as_many_targets_as_the_hidden_size_are_refused_by_name():
    with pytest.raises(ValueError, match=r"input 7: 4 targets share one input, but a hidden size of 4 .* at most 3"):
        solve_weights(torch.zeros(4), normal(0, 4, 4), place="input 7: ")


def test_one_target_fewer_than_the_hidden_size_is_read():
    unit_kh = normal(0, 3, 4)

    np.testing.assert_allclose(solve_weights(unit_kh.sum(0), unit_kh).weight, [1, 1, 1], rtol=1e-9)


@pytest.mark.parametrize("apart", [1e-8, 0.0])
def test_targets_that_point_the_same_way_are_refused_by_name(apart):
    unit_kh = torch.tensor([[1.0, 0.0, 0.0], [1.0, apart, 0.0]], dtype=torch.float64)

    with pytest.raises(ValueError, match=r"input 7: .* 2 targets .* condition number (\d|inf).* limit of 1e\+06"):
        solve_weights(torch.ones(3), unit_kh, place="input 7: ")


def test_a_target_without_a_direction_is_refused():
    with pytest.raises(ValueError, match=r"input 7: 1 of 2 targets .* unit gradient of 0"):
        solve_weights(torch.ones(3), torch.tensor([[1.0, 0.0, 0.0], [0.0, 0.0, 0.0]]), place="input 7: ")


def read_with_uniform(gradient_nh, unit_nh, uniform_nh, odd_n):
    """As the instruments do it: one direction first, then two where one was not enough."""
    read = read_weights(gradient_nh, unit_nh)
    return with_uniform(read, odd_n, gradient_nh[odd_n], unit_nh[odd_n], uniform_nh[odd_n])


@given(seeds, st.floats(0.1, 10), st.floats(0.1, 10))
def test_label_smoothing_is_split_off(seed, target, spread):
    unit_nh, uniform_nh = normal(seed, 4, 16), normal(seed + 1, 4, 16)

    read, uniform_n, condition_n = read_with_uniform(
        target * unit_nh + spread * uniform_nh, unit_nh, uniform_nh, torch.tensor([True] * 4)
    )

    np.testing.assert_allclose(read.weight, [target] * 4, rtol=1e-10)
    np.testing.assert_allclose(uniform_n, [spread] * 4, rtol=1e-10)
    np.testing.assert_allclose(read.cosine, [1.0] * 4)
    np.testing.assert_array_less(read.remainder, 1e-10)
    cosine_n = torch.cosine_similarity(unit_nh, uniform_nh)
    ratio_n = unit_nh.norm(dim=-1) / uniform_nh.norm(dim=-1) / (1 - cosine_n**2).sqrt()
    np.testing.assert_allclose(condition_n, ratio_n.clamp(min=1.0))


@given(seeds)
def test_other_positions_are_left_as_they_were(seed):
    unit_nh, uniform_nh = normal(seed, 2, 16), normal(seed + 1, 2, 16)
    gradient_nh = unit_nh + uniform_nh
    alone = read_weights(gradient_nh, unit_nh)

    read, uniform_n, condition_n = read_with_uniform(gradient_nh, unit_nh, uniform_nh, torch.tensor([False, True]))

    assert (alone.weight[0], alone.cosine[0], alone.remainder[0]) == (read.weight[0], read.cosine[0], read.remainder[0])
    assert (uniform_n[0], condition_n[0]) == (0, 1)


@given(seeds)
def test_another_second_term_is_not_taken_for_label_smoothing(seed):
    unit_nh, uniform_nh = normal(seed, 3, 64), normal(seed + 1, 3, 64)
    gradient_nh = unit_nh + orthogonal_to(unit_nh, seed + 2)
    alone = read_weights(gradient_nh, unit_nh)

    read, uniform_n, condition_n = read_with_uniform(gradient_nh, unit_nh, uniform_nh, torch.tensor([True] * 3))

    for before, after in zip(alone, read):
        assert before.tolist() == after.tolist()
    assert [0.0] * 3 == uniform_n.tolist()
    assert [1.0] * 3 == condition_n.tolist()


@pytest.mark.parametrize(
    ("remainder", "amplification", "odd"),
    [
        (2e-4, 1.0, True),
        (0.5e-4, 1.0, False),
        (2e-4, 10.0, False),
        (2e-3, 10.0, True),
        (2e-4, 0.1, True),
        (0.5e-4, 0.1, False),
    ],
)
def test_a_remainder_counts_when_it_is_far_above_rounding(remainder, amplification, odd):
    read = Weights(torch.tensor([-3.0]), torch.tensor([-1.0]), torch.tensor([3 * remainder]))

    assert [odd] == unexplained(read, torch.tensor([amplification])).tolist()
