"""Weight of every target token in supervised fine-tuning, as TRL's SFTTrainer scores it.

Axes: b = row of the micro-batch, t = token of the row, padded. The weight is w_bt = -dL/dlog p(y_bt): positive where
the step makes the token likelier. The token at t is predicted at t - 1, so the first token of a row weighs nothing.
"""

import numpy as np
from numpy.typing import ArrayLike

from ._read import Mask, positive, read_mask, read_tokens
from ._window import Float


def scored_tokens(*masks: ArrayLike) -> Mask:
    """Tokens that a supervised loss scores.

        m_bt = 1 if t > 0 and every mask is 1 at [b, t], else 0

    With a completion mask: completion-only loss; with an assistant mask: assistant-only loss; with both, both apply.
    Source: ``build_labels`` in trl/trainer/sft_trainer.py, and the shift of any causal model.

    Args:
        masks: each [b, t], 1 where its kind of token stands; the first is the attention mask.

    Returns:
        [b, t] booleans.

    Raises:
        ValueError: no mask, one that is not a rectangle of 0 and 1, or two shapes.
    """
    if len(masks) == 0:
        raise ValueError("scored_tokens needs a mask, got none: give the attention mask")
    read = [read_mask(mask, f"masks[{i}]") for i, mask in enumerate(masks)]
    shapes = [list(mask_bt.shape) for mask_bt in read]
    if shapes.count(shapes[0]) != len(masks):
        raise ValueError(f"all masks need one shape, got {shapes}: a mask shorter than the ids shortens the labels")
    scored = np.asarray(np.stack(read).all(0))
    scored[:, :1] = False
    return scored


def nll(scored: ArrayLike, denominator: float) -> Float:
    """Weight of each target under the negative log-likelihood.

        w_bt = m_bt / N

    Source: ``SFTTrainer.compute_loss``, loss_type="nll", trl/trainer/sft_trainer.py.

    Args:
        scored: [b, t] m, as ``scored_tokens`` gives it.
        denominator: N, targets of the window, at least 1; n_m K where the trainer averages means of micro-batches.

    Returns:
        [b, t] weights; over the window they sum to 1 if N counts what is scored.

    Raises:
        ValueError: scored is not a rectangle of 0 and 1, or N is not positive.
    """
    return read_mask(scored, "scored") / positive(denominator, "denominator")


def dft(log_p: ArrayLike, scored: ArrayLike, denominator: float) -> Float:
    """Weight of each target under dynamic fine-tuning.

        w_bt = m_bt p(y_bt) / N

    The probability is a constant of the loss and carries no gradient. Arguments and errors as for ``nll``.
    Source: https://arxiv.org/abs/2508.05629 (DFT); ``SFTTrainer.compute_loss``, loss_type="dft".

    Args:
        log_p: [b, t] log p(y_bt) of the policy.

    Returns:
        [b, t] weights, at most those of ``nll``.

    Raises:
        ValueError: a scored log_p is not finite, or its shape is not that of scored.
    """
    mask_bt = read_mask(scored, "scored")
    return np.exp(read_tokens(log_p, mask_bt, "log_p")) * nll(mask_bt, denominator)
