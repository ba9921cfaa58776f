"""Whether the weights of a run are those that TRL's documented loss gives for what the trainer handed to it.

The closed forms are those of the checks of TRL; their arguments come from the run itself: the log-probabilities of the
policy from what was recorded, those of the reference and of the old policy, and the advantages, from the trainer. How
rewards become advantages is not looked at.

Letters: b rows of a micro-batch, t places: place t of a row stands for its token t + 1.
"""

from typing import Any

import numpy as np

from ..objective_bounds import log_p_error, with_arithmetic
from ..objective_record import Scored
from ..readable import tolerance
from ..record import Record, Row, Window
from .forms import Known, NotTold, at_first, form_of
from .heard import Heard
from .trained import TARGETS, Objective

# No logit is recorded: float32 errs by 64 roundings of 1 where the largest is that large.
LARGEST_LOGIT = 64.0

# Rank, and number of the micro-batch in its window.
Place = tuple[int, int]


def deviations(record: Record, objective: Objective, heard: list[list[Heard]]) -> list[str]:
    """For each window what is wrong with it, in words; empty where the weights are those of the closed form.

    Args:
        heard: [rank] forwards, in order, of the ranks whose rows are in the record.

    Raises:
        NotTold: the closed form cannot be evaluated on this run.
    """
    there = sorted({row.rank for window in record.windows for row in window.rows})
    if len(there) < record.ranks and (objective.kind == TARGETS or objective.family == "KTOTrainer"):
        raise NotTold("it takes what the other ranks have in this window")
    total = sum(len(batches(window)) for window in record.windows)
    # Of a window that was cut off, something was heard too.
    if sum(map(len, heard)) < total:
        raise NotTold(f"{total} micro-batches came back from {sum(map(len, heard))} forwards")
    coming = {rank: iter(of_rank) for rank, of_rank in zip(there, heard)}
    return [
        of_window(record, window, objective, {at: next(coming[at[0]]) for at in batches(window)})
        for window in record.windows
    ]


def of_window(record: Record, window: Window, objective: Objective, heard: dict[Place, Heard]) -> str:
    """What is wrong with the first micro-batch that is, in words; heard: its forwards."""
    found = {at: (rows, *scored(rows, heard[at])) for at, rows in batches(window).items()}
    targets = {at: int(batch.mask.sum()) for at, (_, batch, _) in found.items()}
    share, args = 1 / ranks_of(objective, record.ranks), objective.trainer.args
    together = getattr(args, "average_tokens_across_devices", False)
    for (rank, m), (rows, batch, told) in found.items():
        k = sum(of_rank == rank for of_rank, _ in found)
        if objective.family == "KTOTrainer" and record.ranks > 1:
            told = Heard(told.mask, told.told | of_all_ranks([heard[at].told for at in heard if at[1] == m]))
        count = sum(n for at, n in targets.items() if together or at[0] == rank)
        try:
            known = form_of(objective.trainer, objective.family, batch, told, k, count)
        except AttributeError as moved:
            if moved.obj is not args and moved.obj is not objective.trainer:
                raise
            raise NotTold(f"its {type(moved.obj).__name__} has no {moved.name}") from moved
        said = miss(record, rows, batch, scaled(known, share), window)
        if said:
            return f"rank {rank}: {said}" if record.ranks > 1 else said
    return ""


def ranks_of(objective: Objective, ranks: int) -> int:
    """By what the closed form of one rank's loss is divided in the mean of all ranks' gradients.

    A loss that counts the tokens of all ranks is multiplied by their number beforehand.
    """
    args = objective.trainer.args
    if objective.kind == TARGETS:
        return 1 if args.average_tokens_across_devices else ranks
    counts_all = objective.family == "GRPOTrainer" and args.loss_type in ("dapo", "cispo", "vespo")
    return 1 if counts_all else ranks


def scaled(known: Known, share: float) -> Known:
    """The same closed form, times a number."""

    def form(values: dict[str, Any]) -> tuple[Any, Any]:
        weight, addends = known.form(values)
        return share * weight, share * addends

    return known._replace(form=form)


def of_all_ranks(told: list[dict[str, Any]]) -> dict[str, Any]:
    """KTO's completions behind other prompts, of all ranks: its baseline is their mean."""
    names = "KL_logps", "ref_KL_logps", "KL_completion_mask"
    if not all(set(names) <= one.keys() for one in told):
        return {}
    mask = table([row for one in told for row in one[names[2]]])
    return {names[2]: mask, **{name: np.concatenate([one[name] for one in told]) for name in names[:2]}}


def batches(window: Window) -> dict[Place, list[Row]]:
    """The rows of each micro-batch of each rank, in order."""
    groups: dict[Place, list[Row]] = {}
    for row in window.by_micro_batch():
        groups.setdefault((row.rank, row.micro_batch), []).append(row)
    return groups


def scored(rows: list[Row], heard: Heard) -> tuple[Scored, Heard]:
    """A micro-batch as the closed forms want it, and what was told of each token, padding taken off.

    Raises:
        NotTold: the rows that came back are not those that went in.
    """
    kept = [np.flatnonzero(mask) for mask in heard.mask if mask.any()]
    if [at.size for at in kept] != [row.ids.size for row in rows] or len(kept) != len(heard.mask):
        raise NotTold("the rows that came back are not those that went in")
    ahead = [at[1:] - 1 for at in kept]
    wide = ("tool_mask", "completion", "policy", "old_per_token_logps", "reference", "ref_per_token_logps")
    told = {
        name: aligned(heard, values, ahead)
        if name in wide or (name == "advantages" and values.ndim == 2 and values.shape[1] > 1)
        else values
        for name, values in heard.told.items()
    }
    mask = told.get("completion", table([row.scored[: at.size] for row, at in zip(rows, ahead)])) > 0
    if "tool_mask" in told:
        mask &= told["tool_mask"] > 0
    policy = told.get("policy", table([np.nan_to_num(-row.loss[: at.size]) for row, at in zip(rows, ahead)]))
    batch = Scored(
        np.arange(len(rows)),
        mask,
        table([row.weight[: at.size] for row, at in zip(rows, ahead)]),
        np.zeros(mask.shape),
        table([np.nan_to_num(row.amplification[: at.size]) for row, at in zip(rows, ahead)]),
        policy,
        told.get("old_per_token_logps", policy),
        reference_of(told, mask),
        np.zeros(mask.shape),
        np.zeros(mask.shape),
        np.full(mask.shape, LARGEST_LOGIT),
        0,
    )
    return batch, Heard(heard.mask, told)


def reference_of(told: dict[str, Any], mask: Any) -> Any:
    """[b, t] log-probabilities of the reference, or what adds up to them; 0 where nothing is known."""
    if "reference" in told or "ref_per_token_logps" in told:
        return told.get("reference", told.get("ref_per_token_logps"))
    if "ref_chosen_logps" in told:
        return at_first(mask, np.concatenate([told["ref_chosen_logps"], told["ref_rejected_logps"]]))
    return at_first(mask, told["ref_logps"]) if "ref_logps" in told else np.zeros(mask.shape)


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


def miss(record: Record, rows: list[Row], batch: Scored, known: Known, window: Window) -> str:
    """The token that is farthest from the closed form, in words; empty when none is by more than rounding."""
    expected, allowed = bounds(record, rows, batch, known, window)
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


def bounds(record: Record, rows: list[Row], batch: Scored, known: Known, window: Window) -> tuple[Any, Any]:
    """[b, t] weights of the closed form, and how far rounding may put the measured ones.

    To first order, the closed form's own answer to errors of its arguments: of every log-probability of a row alike,
    and of its sum alone, which is moved at one token by what all of them err together. nan where nothing can be told.
    """
    expected, addends = known.form(known.values)
    # Where no gradient came at all nothing was read: the weight is 0, and no rounding is in it.
    read = [np.where(np.isnan(row.loss), 0.0, tolerance(record, row, window.micro_batches)) for row in rows]
    allowed = np.where(expected == 0, 0.0, table(read)[:, : expected.shape[1]] * np.abs(expected))
    for name, mask in known.masks.items():
        value = known.values[name]
        if not np.any(value):
            continue
        e = log_p_error(np.full(mask.shape, LARGEST_LOGIT), value, mask, record.vocabulary)
        whole = np.zeros_like(e)
        whole[np.arange(len(e)), mask.argmax(1)] = e.sum(1)
        for error in (e, -e, whole, -whole):
            moved, _ = known.form({**known.values, name: value + error})
            allowed = allowed + np.abs(moved - expected)
    return expected, with_arithmetic(allowed, addends)
