"""Whether the weights of a run are those that TRL's documented loss gives for what the trainer handed to it.

The closed forms are those of the checks of TRL; their arguments come from the run itself: the log-probabilities of the
policy from what was recorded, those of the reference and of the old policy, and the advantages, from the trainer. How
rewards become advantages is not looked at.

Letters: b rows of a micro-batch, t places: place t of a row stands for its token t + 1.
"""

from typing import Any

import numpy as np

from ..objective_bounds import Form, log_p_error, with_arithmetic
from ..objective_pairs import PairOptions, form_of_pairs, form_of_targets
from ..objective_policy import Options, grpo_form, rloo_form, share_of
from ..objective_record import Scored
from ..readable import tolerance
from ..record import Record, Row, Window
from .trained import PAIRS, TARGETS, Heard, Objective

# No logit is recorded: float32 errs by 64 roundings of 1 where the largest is that large.
LARGEST_LOGIT = 64.0


class NotTold(LookupError):
    """What a closed form needs did not come from the run."""


def deviations(record: Record, objective: Objective) -> list[str]:
    """For each window what is wrong with it, in words; empty where the weights are those of the closed form.

    Raises:
        NotTold: the closed form cannot be evaluated on this run.
    """
    if record.ranks > 1:
        raise NotTold("the trainers of several ranks hand over their arguments apart")
    total = sum(len(batches(window)) for window in record.windows)
    # Of a window that was cut off, something was heard too.
    if len(objective.heard) < total:
        raise NotTold(f"{total} micro-batches came back from {len(objective.heard)} forwards")
    heard, told = iter(objective.heard), []
    for window in record.windows:
        groups = [(rows, next(heard)) for rows in batches(window)]
        pairs = [(rows, scored(rows, told_of, record.vocabulary), told_of) for rows, told_of in groups]
        count = int(sum(batch.mask.sum() for _, batch, _ in pairs))
        told.append(
            next(
                filter(
                    None,
                    (
                        miss(record, rows, batch, form_of(objective, batch, heard_of, len(pairs), count), window)
                        for rows, batch, heard_of in pairs
                    ),
                ),
                "",
            )
        )
    return told


def batches(window: Window) -> list[list[Row]]:
    """The rows of each micro-batch, in order."""
    groups: dict[int, list[Row]] = {}
    for row in window.rows:
        groups.setdefault(row.micro_batch, []).append(row)
    return [groups[m] for m in sorted(groups)]


def scored(rows: list[Row], heard: Heard, vocabulary: int) -> Scored:
    """A micro-batch as the closed forms want it.

    Raises:
        NotTold: the rows that came back are not those that went in.
    """
    kept = [np.flatnonzero(mask) for mask in heard.mask if mask.any()]
    if [at.size for at in kept] != [row.ids.size for row in rows] or len(kept) != len(heard.mask):
        raise NotTold("the rows that came back are not those that went in")
    ahead = [at[1:] - 1 for at in kept]
    policy = table([np.nan_to_num(-row.loss[: at.size]) for row, at in zip(rows, ahead)])
    mask = table([row.scored[: at.size] for row, at in zip(rows, ahead)]) > 0
    if "tool_mask" in heard.told:
        mask &= aligned(heard, heard.told["tool_mask"], ahead) > 0
    old, base = (
        heard.told.get("old_per_token_logps"),
        heard.told.get("reference", heard.told.get("ref_per_token_logps")),
    )
    return Scored(
        np.arange(len(rows)),
        mask,
        table([row.weight[: at.size] for row, at in zip(rows, ahead)]),
        np.zeros(mask.shape),
        table([np.nan_to_num(row.amplification[: at.size]) for row, at in zip(rows, ahead)]),
        policy,
        policy if old is None else aligned(heard, old, ahead),
        np.zeros(mask.shape) if base is None else aligned(heard, base, ahead),
        np.zeros(mask.shape),
        np.full(mask.shape, LARGEST_LOGIT),
        0,
    )


def table(values: list[Any]) -> Any:
    """[b, t] with 0 behind the end of each row."""
    found = np.zeros((len(values), max(len(value) for value in values)))
    for b, value in enumerate(values):
        found[b, : len(value)] = value
    return found


def aligned(heard: Heard, values: np.ndarray, ahead: list[Any]) -> Any:
    """[b, t] of values that stand for the last tokens of the padded rows, padding taken off."""
    wide = np.zeros((len(heard.mask), heard.mask.shape[1] - 1))
    wide[:, wide.shape[1] - values.shape[1] :] = values
    return table([row[at] for row, at in zip(wide, ahead)])


def form_of(objective: Objective, batch: Scored, heard: Heard, k: int, count: int) -> tuple[Form, dict[str, Any]]:
    """The closed form of one of K micro-batches with `count` targets in all, and its arguments.

    Raises:
        NotTold: an argument is missing.
    """
    args, values = objective.trainer.args, {"policy": batch.policy, "old": batch.old, "reference": batch.reference}
    if objective.kind == TARGETS:
        return form_of_targets(batch, args.loss_type, count), values
    if objective.kind == PAIRS:
        if "reference" not in heard.told:
            raise NotTold("the log-probabilities of the reference were not seen, as where they are computed beforehand")
        return form_of_pairs(batch, *pair_options(args), k), values
    if "advantages" not in heard.told or "importance_sampling_ratio" in heard.told:
        raise NotTold("the trainer handed no advantages to its loss, or ratios of another sampler")
    a = heard.told["advantages"].reshape(len(batch.numbers), -1)
    values["advantage"] = a if a.shape[1] == 1 else aligned(heard, a, [np.arange(batch.mask.shape[1])] * len(a))
    return form_of_policy(args, batch, float(heard.told.get("num_items_in_batch", np.array(0.0))), k), values


def pair_options(args: Any) -> tuple[dict[str, float], PairOptions]:
    """Losses with their weights, and options, of a DPOConfig."""
    weights = args.loss_weights or [1.0] * len(args.loss_type)
    options = PairOptions(
        args.beta,
        args.label_smoothing,
        args.discopop_tau,
        1.0 if args.ld_alpha is None else args.ld_alpha,
        args.f_divergence_type,
        args.f_alpha_divergence_coef,
    )
    return dict(zip(args.loss_type, weights)), options


def form_of_policy(args: Any, batch: Scored, generated: float, k: int) -> Form:
    """The closed form of a GRPOConfig or RLOOConfig; `generated`: completion tokens of the whole generation."""
    high = args.epsilon if args.epsilon_high is None else args.epsilon_high
    if not hasattr(args, "loss_type"):
        return rloo_form(batch, share_of(Options(loss_type="luspo"), batch.mask, 0, k), args.epsilon, high)
    options = Options(
        args.loss_type,
        args.importance_sampling_level,
        args.epsilon,
        high,
        np.inf if args.delta is None else args.delta,
        args.beta,
        args.use_bias_correction_kl,
        max_completion_length=args.max_completion_length,
        steps_per_generation=args.steps_per_generation,
        rising=(args.vespo_k_pos, args.vespo_lambda_pos),
        falling=(args.vespo_k_neg, args.vespo_lambda_neg),
    )
    return grpo_form(options, batch, share_of(options, batch.mask, int(generated), k))


def miss(record: Record, rows: list[Row], batch: Scored, form: tuple[Form, dict[str, Any]], window: Window) -> str:
    """The token that is farthest from the closed form, in words; empty when none is by more than rounding."""
    expected, allowed = bounds(record, rows, batch, *form, window)
    if batch.mask.any() and np.isnan(allowed[batch.mask]).all():
        raise NotTold("rounding explains a tenth of each weight or more")
    off = np.abs(batch.weight - expected)
    bad = off > allowed
    if not bad.any():
        return ""
    b, t = np.unravel_index(int(np.argmax(np.where(bad, off - allowed, -1))), off.shape)
    measured, right = batch.weight[b, t], expected[b, t]
    ratio = f", {measured / right:.4g} times as much" if right else ""
    return (
        f"{int(bad.sum())} of {int(batch.mask.sum())} targets do not weigh what the loss gives them; token {t + 1} of "
        f"row {b} weighs {measured:.6g}, the closed form gives {right:.6g}{ratio}"
    )


def bounds(
    record: Record, rows: list[Row], batch: Scored, form: Form, values: dict[str, Any], window: Window
) -> tuple[Any, Any]:
    """[b, t] weights of the closed form, and how far rounding may put the measured ones.

    To first order, the closed form's own answer to errors of its arguments: of every log-probability of a row alike,
    and of its sum alone, which is moved at one token by what all of them err together. nan where nothing can be told.
    """
    expected, addends = form(values)
    reading = table([tolerance(record, row, window.micro_batches) for row in rows])[:, : expected.shape[1]]
    allowed = np.where(expected == 0, 0.0, reading * np.abs(expected))
    for name in ("policy", "old", "reference"):
        if not np.any(values[name]):
            continue
        e = log_p_error(batch.largest, values[name], batch.mask, record.vocabulary)
        whole = np.zeros_like(e)
        whole[np.arange(len(e)), batch.mask.argmax(1)] = e.sum(1)
        for error in (e, -e, whole, -whole):
            moved, _ = form({**values, name: values[name] + error})
            allowed = allowed + np.abs(moved - expected)
    return expected, with_arithmetic(allowed, addends)
