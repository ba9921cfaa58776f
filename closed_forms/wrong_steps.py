"""What is seen between the last backward and the parameters of a step that is wrong, or right: one row per quantity.

Letters: p parameter, m micro-batch, w window. Every form gives one list of arrays, as those of ``aggregation`` do.
"""

from collections.abc import Sequence

import numpy as np

from ._window import Float
from .updates import clip_factor


def every_gradient(parameters: Sequence[str], micro_batches: int) -> list[Float]:
    """Whether a gradient that is not zero comes to each parameter in each micro-batch, when all is right.

        r_pm = 1

    Args:
        parameters: [p] names of those that should train.
        micro_batches: M, at least 1.

    Returns:
        One float64 array, [p M], parameter by parameter.

    Raises:
        ValueError: no micro-batch.
    """
    return only_gradients_of(parameters, micro_batches, "")


def only_saved_modules(parameters: Sequence[str], micro_batches: int) -> list[Float]:
    """Reach when nothing but modules_to_save gets a gradient.

        r_pm = (p is in modules_to_save)

    Same arguments, result and errors as ``every_gradient``. Under re-entrant checkpointing with frozen inputs, reported
    in https://github.com/huggingface/transformers/issues/21381
    """
    return only_gradients_of(parameters, micro_batches, "modules_to_save")


def only_adapters(parameters: Sequence[str], micro_batches: int) -> list[Float]:
    """Reach when modules_to_save get no gradient, and adapters do.

        r_pm = (p is of an adapter)

    Same arguments, result and errors as ``every_gradient``.
    Reported in https://github.com/unslothai/unsloth/issues/3327
    """
    return only_gradients_of(parameters, micro_batches, "lora_")


def only_what_trains(trains: Sequence[bool], micro_batches: int) -> list[Float]:
    """As ``every_gradient``, of all parameters of a model, some of which are frozen.

        r_pm = (p trains)

    Args:
        trains: [p] whether the parameter should train.
        micro_batches: M.
    """
    return [np.repeat(np.asarray(trains, dtype=np.float64), micro_batches)]


def only_gradients_of(parameters: Sequence[str], micro_batches: int, part: str) -> list[Float]:
    """Reach when only parameters with that in their names get a gradient; otherwise as ``every_gradient``."""
    if not micro_batches >= 1:
        raise ValueError(f"micro_batches={micro_batches} must be at least 1: without one nothing is reached")
    return [np.repeat([1.0 if part in name else 0.0 for name in parameters], micro_batches)]


def whole_sum(micro_batches: int) -> list[Float]:
    """How often the gradient of the step before, and each micro-batch, is in the gradient of a right step.

        s = 0, 1, ..., 1

    Args:
        micro_batches: M, at least 1.

    Returns:
        One array, [1 + M].
    """
    return [np.array([0.0] + [1.0] * micro_batches)]


def last_of_sum(micro_batches: int) -> list[Float]:
    """As ``whole_sum``, when the gradient is emptied before each micro-batch.

        s = 0, 0, ..., 1

    Reported in https://github.com/pytorch/torchtitan/pull/3575
    """
    return [np.array([0.0] * micro_batches + [1.0])]


def first_of_sum(micro_batches: int) -> list[Float]:
    """As ``whole_sum``, when what comes behind the first micro-batch is not added.

        s = 0, 1, 0, ...

    Reported in https://github.com/deepspeedai/DeepSpeed/pull/7967
    """
    return [np.array([0.0, 1.0] + [0.0] * (micro_batches - 1))]


def own_of_rank(micro_batches: int, ranks: int) -> list[Float]:
    """As ``whole_sum`` of the micro-batches of all ranks, rank by rank, when rank 0 keeps its own gradient.

        s = 0, R, ..., R, 0, ..., 0

    The mean over R ranks holds each micro-batch once, 1/R of what its own rank made of it. Reported in
    https://github.com/EleutherAI/gpt-neox/pull/1259

    Args:
        micro_batches: of all ranks, R times those of one.
        ranks: R, at least 1.

    Raises:
        ValueError: the micro-batches are not as many on each rank.
    """
    own = of_one_rank(micro_batches, ranks)
    return [np.array([0.0] + [float(ranks)] * own + [0.0] * (micro_batches - own))]


def summed_over_ranks(micro_batches: int, ranks: int) -> list[Float]:
    """As ``own_of_rank``, when gradients are added up over the ranks and not divided.

        s = 0, R, ..., R

    Reported in https://github.com/tensorflow/benchmarks/issues/466
    """
    of_one_rank(micro_batches, ranks)
    return [np.array([0.0] + [float(ranks)] * micro_batches)]


def of_one_rank(micro_batches: int, ranks: int) -> int:
    """Micro-batches of each rank."""
    if ranks < 1 or micro_batches % ranks:
        raise ValueError(
            f"micro_batches={micro_batches} are not as many on each of ranks={ranks}: give those of all ranks"
        )
    return micro_batches // ranks


def clipped(norms: Sequence[float], max_norm: float, scale: float) -> list[Float]:
    """Factor of each gradient between the last backward and the step: loss scale undone, then clipped.

        f_p = min(1, max_norm / (|g| + 1e-6)) / S

    Args:
        norms: [p] norm of each gradient of the loss itself.
        max_norm: of the clip.
        scale: S, by which the loss was multiplied; 1 without.

    Returns:
        One array, [p].

    Raises:
        ValueError: as ``clip_factor``.
    """
    return [np.full(len(norms), clip_factor(norms, max_norm) / scale)]


def clipped_before_unscaling(norms: Sequence[float], max_norm: float, scale: float) -> list[Float]:
    """As ``clipped``, when the clip comes first.

        f_p = min(1, max_norm / (S |g| + 1e-6)) / S

    Reported in https://github.com/TorchSSL/TorchSSL/pull/59
    """
    return [np.full(len(norms), clip_factor(scale * np.asarray(norms), max_norm) / scale)]


def unscaled_by_next_scale(norms: Sequence[float], max_norm: float, scale: float) -> list[Float]:
    """As ``clipped``, when the scale has grown by 2 before the gradient is divided by it.

        f_p = min(1, max_norm / (|g| / 2 + 1e-6)) / (2 S)

    Reported in https://github.com/deepspeedai/DeepSpeed/pull/8588
    """
    return [np.full(len(norms), clip_factor(np.asarray(norms) / 2, max_norm) / (2 * scale))]


def not_clipped(norms: Sequence[float], scale: float) -> list[Float]:
    """As ``clipped``, without a clip.

        f_p = 1 / S

    Asked about in https://github.com/huggingface/trl/issues/3312
    """
    return [np.full(len(norms), 1 / scale)]


def clipped_by_kind(norms: Sequence[float], max_norm: float, scale: float, flat: Sequence[bool]) -> list[Float]:
    """As ``clipped``, when each group of parameters is clipped by its own norm.

        f_p = min(1, max_norm / (|g_group(p)| + 1e-6)) / S

    Reported in https://github.com/huggingface/transformers/pull/614

    Args:
        flat: [p] whether it is a norm or bias, which is the second group.
    """
    flat_p, norms_p = np.asarray(flat), np.asarray(norms)
    factor = [clip_factor(norms_p[flat_p == kind], max_norm) for kind in (False, True)]
    return [np.where(flat_p, factor[1], factor[0]) / scale]


def in_one_group(flat: Sequence[bool]) -> list[Float]:
    """Places of the optimizer's groups that hold each parameter, when all is right.

        n_p = 1

    Args:
        flat: [p] whether it is a norm or bias.
    """
    return [np.ones(len(flat))]


def second_group_missing(flat: Sequence[bool]) -> list[Float]:
    """As ``in_one_group``, when the second group, of norms and biases, was forgotten.

        n_p = (p is a matrix)

    Reported in https://github.com/zjunlp/HVPNeT/issues/5
    """
    return [1.0 - np.asarray(flat, dtype=np.float64)]


def decay_of_matrices(flat: Sequence[bool], decay: float) -> list[Float]:
    """Weight decay of each parameter, when norms and biases have none.

    d_p = decay (p is a matrix)
    """
    return [decay * (1.0 - np.asarray(flat, dtype=np.float64))]


def decay_of_all(flat: Sequence[bool], decay: float) -> list[Float]:
    """As ``decay_of_matrices``, when norms and biases decay too.

        d_p = decay

    Reported in https://github.com/huggingface/transformers/pull/35927
    """
    return [np.full(len(flat), decay)]


def decay_of_flat(flat: Sequence[bool], decay: float) -> list[Float]:
    """As ``decay_of_matrices``, when norms and biases decay and matrices do not.

        d_p = decay (p is a norm or bias)

    Reported in https://github.com/facebookresearch/BalancingGroups/issues/6
    """
    return [decay * np.asarray(flat, dtype=np.float64)]


def one_step() -> float:
    """Steps of the optimizer in one window.

    1
    """
    return 1.0


def two_steps() -> float:
    """Steps of the optimizer in one window, when somebody else steps too.

        2

    Reported in https://github.com/NVIDIA/physicsnemo/issues/1911
    """
    return 2.0


def linear_rate(rate: float, number: int, steps: int) -> float:
    """Learning rate of a step under a linear decay to 0.

        lr_w = lr (1 - w / W)

    Args:
        rate: lr, at the start.
        number: w, 0 for the first step.
        steps: W, of the whole training.
    """
    return rate * max(0.0, 1 - number / steps)


def linear_rate_of_micro_batches(rate: float, number: int, steps: int, micro_batches: int) -> float:
    """As ``linear_rate``, when the schedule advances at each micro-batch.

        lr_w = lr max(0, 1 - (M w + M - 1) / W)

    The schedule has advanced M - 1 times more when the window steps.
    Reported in https://github.com/starVLA/starVLA/pull/210
    """
    return rate * max(0.0, 1 - (micro_batches * number + micro_batches - 1) / steps)
