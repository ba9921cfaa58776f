"""What GRPO and its relatives, and RLOO, give every completion token of a driven run, by the closed forms."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from closed_forms import advantages, kl, policy, policy_masks, policy_tokens, rounding

from .objective_bounds import Expected, Form, expected, log_p_error
from .objective_record import Driven, Scored
from .record import Bools, Floats

Rewards = Sequence[Sequence[float | None]]


@dataclass(frozen=True)
class Options:
    """Of GRPO's loss, by TRL's names; the defaults are TRL's."""

    loss_type: str = "dapo"
    importance_sampling_level: str = "token"
    epsilon: float = 0.2
    epsilon_high: float = 0.2
    delta: float = np.inf
    beta: float = 0.0
    use_bias_correction_kl: bool = True
    scale_rewards: str = "group"
    multi_objective_aggregation: str = "sum_then_normalize"
    max_completion_length: int = 256
    steps_per_generation: int = 1
    top_entropy_quantile: float = 1.0
    off_policy_mask_threshold: float | None = None
    rising: tuple[float, float] = (2.0, 3.0)
    falling: tuple[float, float] = (3.0, 2.0)


FormOf = Callable[[Options, Scored, Floats], Form]


def of_grpo(
    driven: Driven, rewards: Rewards, group: int, options: Options, form_of: FormOf | None = None
) -> list[list[Expected]]:
    """[window][micro-batch] what the tokens of each completion weigh.

    Args:
        rewards: [number][k]; the functions weigh the same.
        group: G.
        form_of: the closed form of options, a micro-batch and the share of its completions; ``grpo_form`` if left out.
    """
    form_of = form_of or grpo_form
    r_ik = np.array([[np.nan if r is None else r for r in row] for row in rewards])
    ones = np.ones(r_ik.shape[1])
    advantage_g, error_g = [], []
    for numbers in driven.generations:
        if options.multi_objective_aggregation == "normalize_then_sum":
            a = advantages.normalize_then_sum(r_ik[numbers], ones, group)
        else:
            a = advantages.sum_then_normalize(r_ik[numbers], ones, group, options.scale_rewards)
        advantage_g.append(dict(zip(numbers, a)))
        error_g.append(dict(zip(numbers, advantage_error(r_ik[numbers], a, group, options.scale_rewards))))
    lengths = lengths_of(driven)
    found: list[list[Expected]] = []
    for window in driven.windows:
        found.append([])
        for batch in window:
            generated = sum(lengths.get(number, 0) for number in driven.generations[batch.generation])
            share = share_of(options, batch.mask, generated, len(window))
            a, e = (
                np.array([[table[batch.generation].get(n, 0.0)] for n in batch.numbers])
                for table in (advantage_g, error_g)
            )
            found[-1].append(of_models(form_of(options, batch, share), batch, a, e, driven.record.vocabulary))
    return found


def grpo_form(options: Options, batch: Scored, share: Floats) -> Form:
    """Share times policy term and penalty."""

    def form(values: dict[str, Floats]) -> tuple[Floats, Floats]:
        term, sizes = policy_term(options, batch, values)
        penalty, more = kl_term(options, batch.mask, values)
        return share * (term + penalty), share * (sizes + more)

    return form


def rloo_form(batch: Scored, share: Floats, low: float, high: float) -> Form:
    """Share times the clipped factor of the summed log-ratio."""

    def form(values: dict[str, Floats]) -> tuple[Floats, Floats]:
        q = ((values["policy"] - values["old"]) * batch.mask).sum(1, keepdims=True)
        weight = share * policy_tokens.at_tokens(batch.mask, policy.clipped(q, values["advantage"], low, high))
        return weight, np.abs(weight)

    return form


def of_rloo(
    driven: Driven,
    rewards: Rewards,
    group: int,
    *,
    epsilon: float = 0.2,
    epsilon_high: float = 0.2,
    beta: float = 0.05,
    normalize: bool = False,
    clip: tuple[float, float] = (-np.inf, np.inf),
) -> list[list[Expected]]:
    """[window][micro-batch] what the tokens of each completion weigh; arguments as in ``of_grpo`` and RLOOConfig."""
    r_ik = np.array([[np.nan if r is None else r for r in row] for row in rewards])
    divergence: dict[tuple[int, int], tuple[float, float]] = {}
    for window in driven.windows:
        for batch in window:
            e = sum(
                log_p_error(batch.largest, table, batch.mask, driven.record.vocabulary).sum(1)
                for table in (batch.old, batch.reference)
            )
            gap = ((batch.old - batch.reference) * batch.mask).sum(1)
            divergence |= {(batch.generation, n): (d, x) for n, d, x in zip(batch.numbers, gap, e)}
    found: list[list[Expected]] = []
    for window in driven.windows:
        found.append([])
        for batch in window:
            numbers = driven.generations[batch.generation]
            pairs = [divergence.get((batch.generation, n), (0.0, 0.0)) for n in numbers]
            d_i, e_i = np.array(pairs).T
            raw = np.where(np.isnan(r_ik[numbers]).all(1), np.nan, np.nansum(r_ik[numbers], axis=1))
            shaped = advantages.shaped_reward(raw, *clip, beta, d_i)
            a_i = advantages.leave_one_out(shaped[:, None], [1.0], group, normalize)
            error_i = leave_one_out_error(shaped, beta * e_i, a_i, group, normalize)
            table = {n: (a, e) for n, a, e in zip(numbers, a_i, error_i)}
            a, e = np.array([table.get(n, (0.0, 0.0)) for n in batch.numbers]).T
            share = policy_tokens.by_batch(batch.mask, len(window))
            form = rloo_form(batch, share, epsilon, epsilon_high)
            found[-1].append(of_models(form, batch, a[:, None], e[:, None], driven.record.vocabulary))
    return found


def lengths_of(driven: Driven) -> dict[int, int]:
    """Scored tokens of each completion that ran."""
    return {
        int(number): int(marks.sum())
        for window in driven.windows
        for batch in window
        for number, marks in zip(batch.numbers, batch.mask)
        if number >= 0
    }


def share_of(options: Options, mask: Bools, generated: int, k: int) -> Floats:
    """[b, 1] from the table in ``closed_forms.policy_tokens``."""
    return {
        "grpo": lambda: policy_tokens.by_completion(mask, k),
        "sapo": lambda: policy_tokens.by_completion(mask, k),
        "bnpo": lambda: policy_tokens.by_micro_batch(mask, k),
        "dr_grpo": lambda: policy_tokens.by_slot(mask, options.max_completion_length, k),
        "luspo": lambda: policy_tokens.by_batch(mask, k),
    }.get(options.loss_type, lambda: policy_tokens.by_generation(mask, generated, options.steps_per_generation, k))()


def policy_term(options: Options, batch: Scored, values: dict[str, Floats]) -> tuple[Floats, Floats]:
    """[b, t] from the same table, and the addends."""
    mask = batch.mask
    kept = policy_masks.high_entropy(batch.entropy, mask, options.top_entropy_quantile)
    q_bt, a_b = values["policy"] - values["old"], values["advantage"]
    if options.off_policy_mask_threshold is not None:
        models = values["policy"], values["old"]
        near = policy_masks.off_policy_rows(a_b[:, 0], *models, mask, options.off_policy_mask_threshold)
        kept = kept & near[:, None]
    by_sequence = options.importance_sampling_level == "sequence"
    q = policy.mean_log_ratio(q_bt, mask)[:, None] if by_sequence else np.where(mask, q_bt, 0.0)
    if options.loss_type == "vespo":
        log_w = policy.vespo_log_weight(q_bt, mask)
        factor = policy.vespo(log_w, a_b[:, 0], options.rising, options.falling)[:, None]
        term = policy_tokens.at_tokens(mask, factor, kept)
        # phi is the exponential of a sum, whose rounding is relative to its addends
        size = 1 + 3 + 3 * np.abs(log_w) + 3 * np.exp(log_w)
        return term, np.abs(term) * size[:, None]
    if options.loss_type == "cispo":
        term = policy_tokens.at_tokens(mask, policy.cispo(q, a_b, options.epsilon_high), kept)
        return term, np.abs(term)
    if options.loss_type == "sapo":
        factor = policy.sapo(q, a_b, 1.0, 1.05)
    else:
        factor = policy.clipped(q, a_b, options.epsilon, options.epsilon_high, options.delta)
    term = (policy_tokens.at_sequences if by_sequence else policy_tokens.at_tokens)(mask, factor, kept)
    return term, np.abs(term)


def kl_term(options: Options, mask: Bools, values: dict[str, Floats]) -> tuple[Floats, Floats]:
    """[b, t] of the penalty, and the addends; see the equations in ``closed_forms.kl``."""
    if not options.beta:
        return np.zeros(mask.shape), np.zeros(mask.shape)
    q, u = (np.where(mask, values["policy"] - values[name], 0.0) for name in ("old", "reference"))
    parts = mask * (2 + 2 * np.exp(-u) + np.abs(u))
    if not options.use_bias_correction_kl:
        return mask * kl.plain(u, options.beta), options.beta * parts
    if options.importance_sampling_level == "token":
        return mask * kl.corrected(u, q, options.beta), options.beta * np.exp(q) * parts
    length = np.maximum(mask.sum(1, keepdims=True), 1)
    ratio = np.exp(q.sum(1, keepdims=True) / length)
    mean = mask * parts.sum(1, keepdims=True) / length
    return kl.corrected_by_sequence(u, q, mask, options.beta), options.beta * ratio * (parts + mean)


def advantage_error(r_ik: Floats, advantage: Floats, group: int, scale: str) -> Floats:
    """[i] how far TRL's float32 advantages may be off.

        u (2 (n + 4) max|r| (1 + |A|) / (sd + 10^-4) + 8 |A|)

    The mean of n rewards and what it is taken from err by (n + 4) u max|r|, the deviation by as much, and each of the
    two enters the quotient once; n is that of the group or of the batch.
    """
    u = rounding.unit_roundoff("float32")
    n = len(r_ik) if scale == "batch" else group
    largest = np.nanmax(np.abs(r_ik), initial=0.0) * r_ik.shape[1]
    if scale == "none":
        return u * (2 * (n + 4) * largest + 8 * np.abs(advantage))
    deviation = np.repeat(deviations(r_ik, 1 if scale == "batch" else len(r_ik) // n), n)
    # Rewards that are all the same leave exactly 0.
    return np.where(
        advantage == 0,
        0.0,
        u * (2 * (n + 4) * largest * (1 + np.abs(advantage)) / (deviation + 1e-4) + 8 * np.abs(advantage)),
    )


def deviations(r_ik: Floats, groups: int) -> Floats:
    """[g] sample deviation of the rewards of each group, without the completions that have none; 0 of a single one."""
    known_gi = ~np.isnan(r_ik).all(1).reshape(groups, -1)
    r_gi, count = np.nansum(r_ik, axis=1).reshape(groups, -1), known_gi.sum(1, keepdims=True)
    apart = np.where(known_gi, r_gi - r_gi.sum(1, keepdims=True) / np.maximum(count, 1), 0.0)
    return np.asarray(np.sqrt((apart**2).sum(1) / np.maximum(count[:, 0] - 1, 1)))


def leave_one_out_error(shaped: Floats, error: Floats, advantage: Floats, group: int, normalize: bool) -> Floats:
    """[i] how far TRL's advantages may be off: the error of the own reward and the siblings', and (G + 4) u max|r|.

    Normalized, that error is divided by the deviation as in ``advantage_error``.
    """
    u = rounding.unit_roundoff("float32")
    largest = float(np.nanmax(np.abs(shaped), initial=0.0))
    e_gi, known_gi = np.nan_to_num(error).reshape(-1, group), ~np.isnan(shaped).reshape(-1, group)
    raw = (e_gi + e_gi.max(1, keepdims=True)).ravel() + 2 * (group + 4) * u * largest
    # A completion without a reward, or whose siblings all have none, gets exactly 0.
    raw = np.where((known_gi & (known_gi.sum(1, keepdims=True) > 1)).ravel(), raw, 0.0)
    if not normalize:
        return raw
    plain = advantages.leave_one_out(shaped[:, None], [1.0], group)
    spread = float(plain.std(ddof=1)) + 1e-4
    return 2 * raw.max() * (1 + np.abs(advantage)) / spread + 8 * u * np.abs(advantage)


def of_models(form: Form, batch: Scored, a: Floats, error: Floats, vocabulary: int) -> Expected:
    """A form of the log-probabilities of three models and of the advantage."""
    values = {"policy": batch.policy, "old": batch.old, "reference": batch.reference}
    errors = {name: log_p_error(batch.largest, table, batch.mask, vocabulary) for name, table in values.items()}
    values, errors = {**values, "advantage": a}, {**errors, "advantage": error}
    return expected(form, values, errors, vocabulary, batch.amplification, batch.largest)
