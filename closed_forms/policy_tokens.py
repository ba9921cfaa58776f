"""Weight of every completion token in a policy-gradient step, from the factors of ``policy`` and ``kl``.

Axes: b = completion of the micro-batch, t = token; B completions, L_b scored tokens of one, K micro-batches per
optimizer step, S micro-batches per generation. The weight is w_bt = -dL/dl_bt as the optimizer receives it: what a loss
multiplies by the number of ranks, their average divides again.

    w_bt = share_b x (policy term + KL term)   share from one of the ``by_...``, terms from ``at_tokens``,
                                               ``at_sequences`` and m_bt times a factor of ``kl``

    loss_type        share                    token level                       sequence level
    grpo             by_completion            at_tokens(clipped)                at_sequences(clipped)
    bnpo             by_micro_batch           at_tokens(clipped)                at_sequences(clipped)
    dr_grpo          by_slot                  at_tokens(clipped)                at_sequences(clipped)
    dapo             by_generation            at_tokens(clipped)                at_sequences(clipped)
    luspo            by_batch                 at_tokens(clipped)                at_sequences(clipped)
    sapo             by_completion            at_tokens(sapo)                   at_sequences(sapo)
    cispo            by_generation            at_tokens(cispo)                  at_tokens(cispo)
    vespo            by_generation            at_tokens(vespo), whatever the level
    RLOO             by_batch                 at_tokens(clipped of the summed log-ratio)

Source: ``_compute_loss`` of trl/trainer/grpo_trainer.py and trl/trainer/rloo_trainer.py. K is the number of
micro-batches that the window really has, the last one of an epoch included.
"""

import numpy as np
from numpy.typing import ArrayLike

from ._read import Mask, positive, read_mask, read_numbers, read_tokens
from ._window import Counts, Float


def by_completion(mask: ArrayLike, accumulation: float) -> Float:
    """Share of a completion's tokens when every completion is averaged by itself: grpo, sapo.

        1 / (max(L_b, 1) B K)

    Source: https://arxiv.org/abs/2402.03300 (GRPO), equation 3.

    Args:
        mask: [b, t] 1 where scored; completions of which nothing is scored stay in B.
        accumulation: K.

    Returns:
        [b, 1] shares; over the scored tokens of full completions they sum to 1 / K.

    Raises:
        ValueError: a mask that is no rectangle of 0 and 1, or has no row; K is not positive.
    """
    length_b = _lengths(mask)
    return 1 / (np.maximum(length_b, 1) * len(length_b) * positive(accumulation, "accumulation"))


def by_micro_batch(mask: ArrayLike, accumulation: float) -> Float:
    """Share of a token when each micro-batch is averaged by itself: bnpo, and dapo in SDPO.

        1 / (max(sum_b L_b, 1) K)

    Arguments, result and errors as for ``by_completion``.
    """
    length_b = _lengths(mask)
    return np.full(length_b.shape, 1 / (max(length_b.sum(), 1) * positive(accumulation, "accumulation")))


def by_slot(mask: ArrayLike, longest: float, accumulation: float) -> Float:
    """Share of a token when every completion is divided by the same length: dr_grpo.

        1 / (B longest K)

    Mask, K and result as for ``by_completion``. Source: https://arxiv.org/abs/2503.20783 (Dr. GRPO).

    Args:
        longest: max_completion_length.

    Raises:
        ValueError: as ``by_completion``; longest is not positive.
    """
    length_b = _lengths(mask)
    slots = len(length_b) * positive(longest, "longest")
    return np.full(length_b.shape, 1 / (slots * positive(accumulation, "accumulation")))


def by_generation(mask: ArrayLike, generated: float, steps_per_generation: float, accumulation: float) -> Float:
    """Share of a token when the tokens of the generation are spread over its windows: dapo, cispo, vespo.

        S / (max(N_gen, 1) K)

    With S = K it is 1 / N of the window. Else windows of one generation that differ in tokens share one constant
    (S > K), and micro-batches of several generations in one window have several (S < K). Mask, K and result as for
    ``by_completion``. Source: https://arxiv.org/abs/2503.14476 (DAPO), for S = K.

    Args:
        generated: N_gen, scored tokens of the generation over all ranks, 0 or more.
        steps_per_generation: S.

    Raises:
        ValueError: as ``by_completion``; N_gen is negative; S is not positive.
    """
    length_b = _lengths(mask)
    if not 0 <= generated < np.inf:
        raise ValueError(f"generated counts tokens, got generated={generated}: give 0 or more")
    steps = positive(steps_per_generation, "steps_per_generation")
    return np.full(length_b.shape, steps / (max(generated, 1) * positive(accumulation, "accumulation")))


def by_batch(mask: ArrayLike, accumulation: float) -> Float:
    """Share of a token when completions are added up and not averaged: luspo, RLOO.

        1 / (B K)

    Arguments, result and errors as for ``by_completion``. Source: https://arxiv.org/abs/2602.05261 (LUSPO).
    """
    length_b = _lengths(mask)
    return np.full(length_b.shape, 1 / (len(length_b) * positive(accumulation, "accumulation")))


def at_tokens(mask: ArrayLike, factor: ArrayLike, multiplier: ArrayLike = 1.0) -> Float:
    """Policy term of a token that has a factor of its own.

        m_bt q_bt c_bt

    Args:
        mask: [b, t] 1 where scored.
        factor: c, [b, t] or [b, 1]; what stands where nothing is scored is not looked at.
        multiplier: q, [b, t], [b, 1] or a number: the product of all that ``policy_masks`` gives.

    Returns:
        [b, t], 0 where the mask is 0.

    Raises:
        ValueError: a mask that is no rectangle of 0 and 1; a factor or multiplier of another shape, or not finite where
            something is scored.
    """
    mask_bt = read_mask(mask)
    q_bt, c_bt = _fitted(multiplier, mask_bt, "multiplier"), _fitted(factor, mask_bt, "factor")
    return np.where(mask_bt, q_bt * c_bt, 0)


def at_sequences(mask: ArrayLike, factor: ArrayLike, multiplier: ArrayLike = 1.0) -> Float:
    """Policy term of a token that has its part in the ratio of the completion.

        m_bt c_b sum_t' m_bt' q_bt' / L_b

    For the ratio of the completion enters the loss at each of its tokens, and each log-probability has 1 / L_b of it. A
    multiplier that masks some tokens makes the others' loss smaller, but takes no token out of the gradient. Arguments
    and errors as for ``at_tokens``, with c of [b, 1].

    Returns:
        [b, t], 0 where the mask is 0; equal for all scored tokens of a completion.
    """
    mask_bt = read_mask(mask)
    c_b = read_numbers(factor, (mask_bt.shape[0], 1), "factor")
    kept_b = np.where(mask_bt, _fitted(multiplier, mask_bt, "multiplier"), 0).sum(1, keepdims=True)
    return np.asarray(mask_bt * c_b * kept_b / np.maximum(mask_bt.sum(1, keepdims=True), 1))


def _lengths(mask: ArrayLike) -> Counts:
    length_b = np.asarray(read_mask(mask).sum(1, keepdims=True))
    if length_b.size == 0:
        raise ValueError("a micro-batch needs a completion, got a mask without rows")
    return length_b


def _fitted(values: ArrayLike, mask_bt: Mask, name: str) -> Float:
    given, shape = np.asarray(values), mask_bt.shape
    if given.shape not in ((), (shape[0], 1), shape):
        raise ValueError(f"{name} must have shape {list(shape)} or {[shape[0], 1]}, got {list(given.shape)}")
    return read_tokens(given * np.ones(shape), mask_bt, name)
