"""Weight of every completion token under DPO: which score the loss looks at, and how a pair's weights are shared out.

Axes: p = pair of the micro-batch, t = completion token, padded; P pairs. The weight is w_pt = -dL/dlog pi(y_pt):
positive where the step makes the token likelier. TRL then divides by K, the micro-batches of the window.

    u_p = sum_t d_pt (log pi(y_pt) - log pi_ref(y_pt))    log-ratio of a completion, d from ``length_desensitized``
    x_p = x(u_p), s_p = dx_p/du_p                         its score and slope, from ``completion_score``
    w_p = -dL/dx_p                                        from ``pair_weights``
    w_pt = q_p d_pt s_p w_p                               with q = 1, or ``wpo_factor``

"sft" alone works on tokens: ``sft``. A list of losses weighs as the sum of its members, each times its loss_weight
(https://arxiv.org/abs/2411.10442, MPO). Source of all: ``DPOTrainer._compute_loss``, trl/trainer/dpo_trainer.py.
"""

import numpy as np
from numpy.typing import ArrayLike

from . import preference, preference_sides
from ._read import between, one_of, read_mask, read_numbers, read_scored, read_tokens, shape_of
from ._window import Float
from .divergences import score, slope
from .preference import Pair


def log_ratio(log_p: ArrayLike, reference: ArrayLike, factors: ArrayLike) -> Float:
    """Log-ratio of each completion.

        u_p = sum_t d_pt (log pi(y_pt) - log pi_ref(y_pt))

    Args:
        log_p: [p, t] log pi of the tokens; reference: [p, t] of the reference model, 0 if there is none.
        factors: [p, t] d; a mask, or what ``length_desensitized`` returns. Where it is 0, nothing else is looked at.

    Returns:
        [p] log-ratios.

    Raises:
        ValueError: shapes that differ, or a number that is not finite where the factor is not 0.
    """
    d_pt = read_numbers(factors, shape_of(factors), "factors")
    policy, base = (
        read_tokens(values, d_pt != 0, name) for values, name in ((log_p, "log_p"), (reference, "reference"))
    )
    return np.asarray((d_pt * (policy - base)).sum(-1))


def length_desensitized(chosen: ArrayLike, rejected: ArrayLike, ld_alpha: float) -> Pair:
    """Factor of each token when those past the shorter completion of a pair count less.

        d_pt = m_pt (1 if the token is among the first min(L_chosen, L_rejected), else ld_alpha)

    Source: https://arxiv.org/abs/2409.06411 (LD-DPO).

    Args:
        chosen: [p, t] mask of the chosen completions; rejected: [p, t] of the rejected, perhaps of another width.
        ld_alpha: 0 to 1; 1, or None in TRL, gives the masks.

    Returns:
        [p, t] factors of the chosen and [p, t] of the rejected tokens.

    Raises:
        ValueError: a mask that is no rectangle of 0 and 1, or has a row of 0; two numbers of rows; ld_alpha outside.
    """
    m_c, m_r = read_scored(chosen, "chosen"), read_scored(rejected, "rejected")
    pairs = (m_c.shape[0], m_r.shape[0])
    if pairs[0] != pairs[1]:
        raise ValueError(f"chosen and rejected need one row per pair, got {pairs[0]} and {pairs[1]}: drop the odd ones")
    rest = between(0, ld_alpha, 1, "ld_alpha")
    shared = np.minimum(m_c.sum(1), m_r.sum(1))[:, None]
    d_c, d_r = (np.where(m.cumsum(1) <= shared, 1.0, rest) for m in (m_c, m_r))
    return np.asarray(m_c * d_c), np.asarray(m_r * d_r)


def completion_score(
    loss_type: str, u: ArrayLike, lengths: ArrayLike, divergence: str = "reverse_kl", alpha: float = 0.5
) -> Pair:
    """Score of each completion that a loss compares, and its slope.

        x = f'(e^u) / n,   s = dx/du;   n = L for ipo and sigmoid_norm, else 1

    f' as in ``divergences.score`` for sigmoid, hinge, ipo, robust, exo_pair, discopop, sigmoid_norm. The others take u
    itself, and no divergence but reverse_kl.

    Args:
        loss_type: one of TRL's names but "sft".
        u: [p] log-ratios; lengths: [p] L, tokens of the completions.
        divergence: name and alpha, as ``divergences.score``.

    Returns:
        [p] scores and [p] slopes.

    Raises:
        ValueError: an unknown loss or divergence, or both do not go together; two lengths; a completion of no token.
    """
    on_scores = ("sigmoid", "hinge", "ipo", "robust", "exo_pair", "discopop", "sigmoid_norm")
    on_ratios = ("nca_pair", "bco_pair", "sppo_hard", "aot", "aot_unpaired", "apo_zero", "apo_down")
    one_of(on_scores + on_ratios, loss_type, "loss_type")
    pairs = np.shape(u)
    u_p, n_p = read_numbers(u, pairs, "u"), read_numbers(lengths, pairs, "lengths")
    if not (n_p >= 1).all():
        raise ValueError(f"every completion needs a token, got lengths={lengths!r}: leave such pairs out")
    x_p, s_p = score(u_p, divergence, alpha), slope(u_p, divergence, alpha)
    if loss_type in on_ratios and divergence != "reverse_kl":
        raise ValueError(f"{loss_type} has no f-divergence but reverse_kl, got {divergence!r}: TRL refuses it too")
    if loss_type in ("ipo", "sigmoid_norm"):
        return x_p / n_p, s_p / n_p
    return x_p, s_p


def pair_weights(
    loss_type: str, x: ArrayLike, y: ArrayLike, beta: float, epsilon: float = 0.0, tau: float = 0.05
) -> Pair:
    """Weights of the scores under one of TRL's losses, by its name.

        w_x = -dL/dx_p, w_y = -dL/dy_p

    "aot" is not among them: it does not compare the scores of pairs, but margins, in ``preference.aot``.

    Args:
        loss_type: TRL's name; x: [p] scores of the chosen completions; y: [p] of the rejected.
        beta: positive.
        epsilon: label_smoothing, of robust, exo_pair and aot_unpaired; "sigmoid" ignores it, in TRL without a word.
        tau: of discopop.

    Returns:
        [p] weights of x and [p] of y.

    Raises:
        ValueError: an unknown loss, or what that loss refuses.
    """
    forms = {
        "sigmoid": lambda: preference.sigmoid(x, y, beta),
        "sigmoid_norm": lambda: preference.sigmoid(x, y, beta),
        "hinge": lambda: preference.hinge(x, y, beta),
        "ipo": lambda: preference.ipo(x, y, beta),
        "robust": lambda: preference.robust(x, y, beta, epsilon),
        "exo_pair": lambda: preference.exo_pair(x, y, beta, epsilon),
        "discopop": lambda: preference.discopop(x, y, beta, tau),
        "aot_unpaired": lambda: preference.aot_unpaired(x, y, beta, epsilon),
        "nca_pair": lambda: preference_sides.nca_pair(x, y, beta),
        "bco_pair": lambda: preference_sides.bco_pair(x, y, beta),
        "sppo_hard": lambda: preference_sides.sppo_hard(x, y, beta),
        "apo_zero": lambda: preference_sides.apo_zero(x, y, beta),
        "apo_down": lambda: preference_sides.apo_down(x, y, beta),
    }
    return forms[one_of(list(forms), loss_type, "loss_type")]()


def wpo_factor(log_p: ArrayLike, log_sum_square: ArrayLike, mask: ArrayLike) -> Float:
    """Share of one side in the factor of each pair under weighted preference optimization.

        q_p = exp(mean_t (log pi(y_pt) - log sum_v pi(v)^2))

    A pair's factor is the product of both sides'. It is a constant of the loss and carries no gradient.
    Source: https://arxiv.org/abs/2406.11827 (WPO), equation 2.

    Args:
        log_p: [p, t] log pi of the tokens; log_sum_square: [p, t] at the same positions; mask: [p, t] 1 where scored.

    Returns:
        [p] positive numbers; 1 where every token is as likely as the model is certain.

    Raises:
        ValueError: shapes that differ; a row without a scored token; numbers that are not finite.
    """
    m_pt = read_scored(mask)
    aligned = read_tokens(log_p, m_pt, "log_p") - read_tokens(log_sum_square, m_pt, "log_sum_square")
    return np.asarray(np.exp(aligned.sum(1) / m_pt.sum(1)))


def sft(chosen: ArrayLike) -> Float:
    """Weight of each chosen token under the loss type "sft".

        w_pt = m_pt / N,   N the chosen tokens of the micro-batch

    The rejected tokens weigh 0; neither ld_alpha nor the reference matters. With WPO, TRL 1.16 fails on it.

    Args:
        chosen: [p, t] mask of the chosen completions.

    Returns:
        [p, t] weights; they sum to 1.

    Raises:
        ValueError: a mask that is no rectangle of 0 and 1, or scores nothing.
    """
    m_pt = read_mask(chosen, "chosen")
    if not m_pt.any():
        raise ValueError("chosen needs a scored token to divide by, got a mask of 0: leave the micro-batch out")
    return np.asarray(m_pt / m_pt.sum())
