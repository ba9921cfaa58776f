"""Push on the student's logits, or weight of the sampled tokens, when a student learns from a teacher.

Axes: n = scored position, v = word of the vocabulary; b = completion, t = token. The push is -dL/dz: positive where a
step of gradient descent raises the logit; L is the sum over the scored positions. The trainers then multiply by

    DistillationTrainer       1 / N_gen, the tokens generated for the window     GKD, GOLD   1 / num_items
    ServerDistillationTrainer, AsyncDistillationTrainer   ``policy_tokens.by_micro_batch``
    SDPO, SDFT                ``policy_tokens.by_completion``

What is learned from is a constant of the loss: the teacher carries no gradient.
"""

import numpy as np
from numpy.typing import ArrayLike

from ._logistic import log_softmax
from ._read import between, positive, read_mask, read_numbers, read_tokens, shape_of
from ._window import Float


def jsd(student: ArrayLike, teacher: ArrayLike, beta: float, temperature: float) -> Float:
    """Push of the generalized Jensen-Shannon divergence.

        beta = 0    -dL/dz_nv = (q - p) / T                                  L = KL(q, p)
        beta = 1    -dL/dz_nv = -p (log(p / q) - KL(p, q)) / T               L = KL(p, q)
        else        -dL/dz_nv = -(1 - beta) p (log(p / m) - KL(p, m)) / T    L = beta KL(q, m) + (1 - beta) KL(p, m)
        p = softmax(z / T) student, q teacher, m = (1 - beta) p + beta q

    Towards either end the divergence goes to 0 like min(beta, 1 - beta), while at the ends TRL takes the KL itself: the
    push jumps there. Source: https://arxiv.org/abs/2306.13649 (GKD), equation 1; ``DistillationTrainer``,
    ``GKDTrainer.generalized_jsd_loss`` and ``compute_divergence`` of SDPO and SDFT, whose alpha is this beta.

    Args:
        student: [n, v] logits; teacher: [n, v].
        beta: 0 to 1.
        temperature: T, positive; 1 in GKD's loss whatever its option, which is for sampling.

    Returns:
        [n, v]; every row sums to 0, and all is 0 where both agree.

    Raises:
        ValueError: logits that are not rows of finite numbers, or of two shapes; an option outside its range.
    """
    shape = shape_of(student)
    if len(shape) != 2 or 0 in shape:
        raise ValueError(f"student must be rows of logits, got shape {list(shape)}: give [position, word]")
    t = positive(temperature, "temperature")
    log_p = log_softmax(read_numbers(student, shape, "student") / t)
    log_q = log_softmax(read_numbers(teacher, shape, "teacher") / t)
    share = between(0, beta, 1, "beta")
    if share == 0:
        return np.asarray((np.exp(log_q) - np.exp(log_p)) / t)
    log_m = log_q if share == 1 else np.logaddexp(log_p + np.log1p(-share), log_q + np.log(share))
    scale = 1.0 if share == 1 else 1 - share
    divergence = (np.exp(log_p) * (log_p - log_m)).sum(1, keepdims=True)
    return np.asarray(-scale / t * np.exp(log_p) * (log_p - log_m - divergence))


def top_k(
    student: ArrayLike, teacher: ArrayLike, beta: float, temperature: float, words: int, tail: bool = False
) -> Float:
    """Push of the divergence over the words that the student finds most likely: ``over_words`` of these.

    Source: ``compute_topk_self_distillation_loss`` of trl/experimental/sdpo/loss_utils.py and sdft/loss_utils.py.

    Student, teacher, beta, temperature, result and errors as for ``jsd``.

    Args:
        words: distillation_topk, the size of S, from 1; with tail, a word must be left.
        tail: distillation_add_tail.
    """
    shape = shape_of(student)
    if len(shape) != 2 or not 1 <= words <= shape[1] - tail:
        raise ValueError(f"words must be 1 to {shape[-1] - tail}, got words={words}: of logits of shape {list(shape)}")
    order = np.argsort(-np.asarray(student, np.float64), axis=1, kind="stable")
    kept = np.zeros(shape, np.bool_)
    np.put_along_axis(kept, order[:, :words], True, 1)
    return over_words(student, teacher, beta, temperature, kept, tail)


def over_words(
    student: ArrayLike, teacher: ArrayLike, beta: float, temperature: float, kept: ArrayLike, tail: bool = False
) -> Float:
    """Push of the divergence over some words of each position.

        z' = z_v for v of the support S, and with tail log sum_(v not in S) e^z_v behind them; the teacher's likewise
        g = ``jsd`` of both z',   -dL/dz_v = g_v in S, else g_tail e^z_v / sum_(u not in S) e^z_u

    The softmax of z' renormalizes, or leaves one bucket for the rest, which pulls at its words by their parts of it. S
    carries no gradient. Source: ``ServerDistillationTrainer._compute_sparse_top_1_divergence_loss`` and
    ``_compute_server_forward_kl_loss``, trl/experimental/server_distillation/server_distillation_trainer.py;
    ``_jsd_loss_chunk``, trl/experimental/async_distillation/async_distillation_trainer.py.

    Student, teacher, beta, temperature, result and errors as for ``jsd``.

    Args:
        kept: [n, v] 1 for the words of S, of which each position has one; with tail, each leaves one.
        tail: the rest is one bucket.
    """
    shape, t = shape_of(student), positive(temperature, "temperature")
    z_nv, q_nv = read_numbers(student, shape, "student") / t, read_numbers(teacher, shape, "teacher") / t
    kept_nv = np.asarray(kept, np.bool_)
    size_n = kept_nv.sum(1) if kept_nv.shape == shape else np.zeros(1)
    if not ((size_n >= 1) & (size_n <= shape[1] - tail)).all():
        raise ValueError(
            f"kept must have shape {list(shape)} and 1 to {shape[1] - tail} words in each row, got {kept!r}"
        )
    push = np.zeros(shape)
    for n, (z_v, q_v, s_v) in enumerate(zip(z_nv, q_nv, kept_nv)):
        z, q = (np.append(x[s_v], [np.logaddexp.reduce(x[~s_v])] * tail) for x in (z_v, q_v))
        (g,) = jsd(z[None], q[None], beta, 1.0) / t
        push[n, s_v] = g[: s_v.sum()]
        if tail:
            push[n, ~s_v] = g[-1] * np.exp(z_v[~s_v] - z[-1])
    return push


def sampled_token(
    student: ArrayLike, teacher: ArrayLike, old: ArrayLike, mask: ArrayLike, cap: float = np.inf
) -> Float:
    """Weight of the sampled tokens under the reverse KL at these alone.

        w_bt = m_bt (log q(y_bt) - log p(y_bt)) ``capped``

    L sums (log p - log q) log p with the first factor held constant, as a policy gradient does.
    Source: ``compute_sampled_token_self_distillation_loss`` and ``apply_importance_sampling_clipping``,
    trl/experimental/sdpo/loss_utils.py and sdft/loss_utils.py.

    Args:
        student: [b, t] log p of the sampled tokens; teacher: [b, t] log q; old: [b, t] log p when they were sampled.
        mask: [b, t] 1 where scored.
        cap: distillation_is_clip, positive.

    Returns:
        [b, t], before the trainer's denominator.

    Raises:
        ValueError: shapes that differ; scored numbers that are not finite; a cap that is not positive.
    """
    mask_bt = read_mask(mask)
    p, q, p_old = (
        read_tokens(values, mask_bt, name)
        for values, name in ((student, "student"), (teacher, "teacher"), (old, "old"))
    )
    return np.asarray((q - p) * capped(p - p_old, cap))


def capped(drift: ArrayLike, cap: float) -> Float:
    """Factor of a divergence at a token that an earlier student sampled: min(e^clip(log p - log p_old, -20, 20), cap).

    SDPO and SDFT take it at the sampled token whatever words the divergence runs over. Source:
    ``apply_importance_sampling_clipping``, trl/experimental/sdpo/loss_utils.py and sdft/loss_utils.py.

    Args:
        drift: log p - log p_old of the sampled tokens, of any shape, which is that of the result.
        cap: distillation_is_clip, positive.

    Raises:
        ValueError: a drift that is not finite, or a cap that is not positive.
    """
    if not cap > 0:
        raise ValueError(f"cap must be positive, got cap={cap}: infinite for none")
    moved = read_numbers(drift, shape_of(drift), "drift")
    return np.asarray(np.minimum(np.exp(np.clip(moved, -20, 20)), cap))


def iw_opd(teacher: ArrayLike, rollout: ArrayLike, mask: ArrayLike, gamma: float, tiny: float) -> Float:
    """Weight of the sampled tokens when early ones count more.

        w_bt = m_bt (1 + gamma (1 - sum_(s < t) |a_bs| / max(sum_s |a_bs|, tiny))) a_bt,   a = m (log q - log p_rollout)

    Source: https://arxiv.org/abs/2606.22600 (IW-OPD); ``IWOPDTrainer._compute_iw_opd_loss``.

    Args:
        teacher: [b, t] log q of the sampled tokens; rollout: [b, t] log p when they were sampled.
        mask: [b, t] 1 where scored.
        gamma: iw_opd_gamma, 0 or more; tiny: iw_opd_epsilon, positive.

    Returns:
        [b, t], before the trainer's denominator; the plain advantage a where gamma is 0.

    Raises:
        ValueError: shapes that differ; scored numbers that are not finite; an option outside its range.
    """
    mask_bt = read_mask(mask)
    a_bt = read_tokens(teacher, mask_bt, "teacher") - read_tokens(rollout, mask_bt, "rollout")
    before = np.cumsum(np.abs(a_bt), axis=1) - np.abs(a_bt)
    total = np.maximum(np.abs(a_bt).sum(1, keepdims=True), positive(tiny, "tiny"))
    return np.asarray((1 + between(0, gamma, np.inf, "gamma") * (1 - before / total)) * a_bt)
