"""Says what is wrong after backward: parameters not reached, gradient lost or bent, steps against the rule."""

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from closed_forms import updates

from . import codes
from .after_ranks import odd
from .after_record import After, Reach, Sum
from .rank_verdict import apart, factor_error, few, left_apart, on_ranks, pulled_apart
from .record import Floats, Record, Window


class Judged(NamedTuple):
    """Faults and remarks by stage, in words.

    Attributes:
        faults: [(stage, sentence)], in the order of the stages: backward, clip, step.
        remarks: what is no fault by itself.
        undone: factor by which the loss was scaled and the gradient divided again before the step; 1 without a scale.
    """

    faults: list[tuple[str, str]]
    remarks: list[str]
    undone: float


def judge_after(record: Record, window: Window, right: bool, scale: float) -> Judged:
    """Judge a window that holds measurements after backward.

    Args:
        right: the token weights are a token mean.
        scale: the power of two by which all of them are too large; 1 when none explains them.
    """
    found: After = window.after
    every = found.ranks or [found]
    reached = on_ranks([reach_faults(after.reach, right or scale != 1) for after in every])
    summed = sum_faults(record, found)
    clips = [clip_faults(replace(after, sums=found.sums), scale, found) for after in every]
    clipped = on_ranks([(faults, remarks) for faults, remarks, _ in clips])
    stepped = on_ranks([step_faults(after) for after in every])
    meeting = [f for f in summed[0] if re.search(codes.kinds()["ranks-summed"].said, f)]
    faults = [("backward", f) for f in [*reached[0], *(f for f in summed[0] if f not in meeting)]]
    faults += [("all-reduce", f) for f in [*apart(found), *meeting]]
    faults += [("clip", f) for f in pulled_apart(found) or clipped[0]]
    faults += [("step", f) for f in stepped[0] + left_apart(found)]
    return Judged(faults, reached[1] + summed[1] + clipped[1] + stepped[1], min(undone for *_, undone in clips))


def reach_faults(reach: Reach, right: bool) -> tuple[list[str], list[str]]:
    """Parameters that got no gradient though their module ran on some token.

    An exact zero that arrived is told and is no fault: it is right where another parameter is zero itself (B of LoRA at
    the start, a gate), and where nothing could be chosen (queries and keys of a first token, which attends to itself).
    Nor is it one that a module did not run, as an expert that no token chose.
    """
    faults, remarks = [], []
    total, came, there = len(reach.names), reach.arrived.any(1), reach.nonzero.any(1)
    names = np.array(reach.names, dtype=object)
    absent = names[~came & reach.ran]
    zero = names[came & ~there & reach.ran]
    explained = [name for name in zero if partner_is_zero(name, reach.zeros)]
    empty = [name for name in zero if name not in explained]
    if len(absent):
        head = f"{'weights right, ' if right else ''}{int(came.sum())} of {total} trainable parameters reached"
        faults.append(f"{head}: no gradient came to {few(absent)}, though the module ran")
    if empty:
        remarks.append(f"the gradient of {few(empty)} is exactly 0 in this window")
    if explained:
        partner = partner_is_zero(explained[0], reach.zeros)
        remarks.append(f"the gradient of {few(explained)} is zero, as {partner} is 0")
    idle = names[~came & ~reach.ran]
    if len(idle):
        remarks.append(f"{len(idle)} trainable parameters are of modules that no token reached: {few(idle)}")
    if reach.frozen:
        faults.append(f"{len(reach.frozen)} parameters of the active adapter do not train: {few(reach.frozen)}")
    return faults, remarks


def partner_is_zero(name: str, zeros: Sequence[str]) -> str:
    """What makes this gradient zero: the other half of its adapter, or any matrix that is zero itself; else empty."""
    for one, other in (("lora_A", "lora_B"), ("lora_B", "lora_A"), ("lora_embedding_A", "lora_embedding_B"),
                       ("lora_embedding_B", "lora_embedding_A")):  # fmt: skip
        if one in name.split("."):
            return other[-1] if name.replace(one, other) in zeros else ""
    # Not a bias or a norm: those that are zero make nothing else zero.
    gates = [z for z in zeros if not z.endswith("bias") and "norm" not in z and "lora_" not in z]
    return gates[0] if gates else ""


def sum_faults(record: Record, found: After) -> tuple[list[str], list[str]]:
    """Gradients after the last backward that are not what the tokens contributed."""
    faults, remarks = [], [f"not compared: {why}" for why in found.unsummed]
    parted = {name for name, differs in zip(found.reach.names, odd(found)) if differs}
    # What is not the same on all ranks is no sum over them, and told as that.
    for s in (s for s in found.sums if s.name not in parted):
        allowed = allowed_of(record, s)
        if not allowed < 0.1:
            remarks.append(f"the gradient of the {s.place} cannot be told: rounding in {record.work_dtype} hides it")
        elif not s.residual <= allowed:
            faults.append(
                f"the gradient of the {s.place} ({s.name}) is not the sum of what the tokens contributed: it is "
                f"{instead_of(s, allowed)}"
            )
    return faults, remarks


def allowed_of(record: Record, s: Sum) -> float:
    """Residual that rounding explains; infinite where nothing was contributed."""
    if not np.isfinite(s.spread):
        return 0.0 if s.residual == 0 else float("inf")
    return updates.sum_tolerance(max(s.spread, 1.0), s.terms, record.work_dtype)


def instead_of(s: Sum, allowed: float) -> str:
    """What a gradient is, when it is not the sum."""
    good = [words for words, residual in s.instead.items() if residual <= 4 * allowed]
    if good:
        return good[0]
    if abs(1 - s.scale) * (1 - allowed) > 0 and s.residual <= abs(1 - s.scale) * (1 + 1e-9) + allowed:
        return f"{s.scale:.6g} times it"
    return f"off by {s.residual:.3g} of it"


def clip_faults(found: After, scale: float, whole: After) -> tuple[list[str], list[str], float]:
    """What happened to the gradient between the last backward and the step; and the scale that was undone.

    Args:
        found: of a rank.
        whole: of all ranks; where each holds a part, the norm that a clip goes by is that of all parts.
    """
    factor = found.factor()
    seen = np.isfinite(factor)
    names = np.array(found.reach.names, dtype=object)
    norms = whole if whole.part.any() else found
    if np.isinf(found.entry).any():
        return [f"the step consumed gradients that are not finite, of {few(names[np.isinf(found.entry)])}"], [], 1.0
    if not seen.any():
        return [], [], 1.0
    lost = (found.before > 0) & ~(found.entry > 0)
    if lost.any():
        return [f"the gradient of {few(names[lost])} was emptied between backward and the step"], [], 1.0
    error = factor_error(found.sizes)
    c = float(np.median(factor[seen]))
    bent = seen & ~(np.abs(factor - c) <= error * c)
    if np.isfinite(found.bound) and not np.isfinite(found.max_norm):
        return by_value(found, factor, float(error[seen].max()), scale)
    if bent.any():
        kept = seen & (np.abs(factor - 1) <= error)
        some, rest = (seen & ~kept, kept) if kept.any() else (bent, seen & ~bent)
        first = float(np.median(factor[some]))
        before = f"clipped on a partial list: the gradients of {few(names[some])} were multiplied by {first:.4g}"
        others = f"those of {int(rest.sum())} others by {float(np.median(factor[rest])):.4g}"
        return [f"{before} before the step and {others}"], [], 1.0
    # Of a sum of rows that nearly cancel, rounding leaves as much more.
    spread = max((s.spread for s in found.sums[:1]), default=1.0)
    if np.isfinite(found.bent) and found.bent > float(error[seen].max()) * max(spread, 1.0):
        return [f"the gradient was changed between backward and the step, by {found.bent:.3g} of it"], [], 1.0
    return judge_factor(norms, c, float(error[seen].max()), scale)


def by_value(found: After, factor: Floats, error: float, scale: float) -> tuple[list[str], list[str], float]:
    """As clip_faults, when the elements of some gradients were cut off at a bound."""
    seen = np.isfinite(factor)
    if np.isfinite(found.bent) and found.bent > error:
        return [f"the gradient was changed between backward and the step, by {found.bent:.3g} of it"], [], 1.0
    whole = factor[seen & ~found.cut]
    # Where none is left whole, the factor of an undone scale is not known by itself.
    if not whole.size or abs(float(np.median(whole)) * scale - 1) <= 2 * error:
        some = f"{int(found.cut.sum())} of {int(seen.sum())} gradients have elements there"
        return [], [f"clipped by value to {found.bound:.4g}: {some}"], scale
    by = f"the gradient was multiplied by {float(np.median(whole)):.6g} between backward and the step"
    return [f"{by}, and clipped by value"], [], 1.0


def judge_factor(found: After, c: float, error: float, scale: float) -> tuple[list[str], list[str], float]:
    """As clip_faults, when all gradients were multiplied alike."""
    total = float(np.sqrt(np.nansum(found.before**2))) / scale
    after = float(np.sqrt(np.nansum(found.entry**2)))
    right = 1.0
    if np.isfinite(found.max_norm):
        right = updates.clip_factor([total], found.max_norm)
        if abs(c * scale - right) > 2 * error * right:
            plain = updates.clip_factor([total * scale], found.max_norm)
            if scale != 1 and abs(c - plain) <= 2 * error * plain:
                # Weights that are some power of two too large were clipped as they are: no scale was undone.
                return judge_factor(found, c, error, 1.0)
            due = f"clipping to {found.max_norm:g} should multiply the gradient, of norm {total:.4g}, by {right:.4g}"
            got = f"the step got it multiplied by {c * scale:.4g}"
            if scale != 1 and abs(c * scale - plain) <= 2 * error * plain:
                return [f"clipped before the loss scale of {scale:g} was undone: {due}, and {got}"], [], scale
            return [f"{due}, and {got}"], [], 1.0
    if c * scale > 1 + 2 * error:
        due = "" if scale == 1 else f", which leaves {c * scale:.6g} of the loss scale"
        return [f"the gradient was multiplied by {c:.6g} between backward and the step{due}"], [], 1.0
    said = []
    if c * scale < 1 - 2 * error:
        said.append(f"clipped from a norm of {total:.4g} to {after:.4g}, by the factor {c * scale:.4g}")
    if scale != 1:
        said.append(f"the loss was scaled by {scale:g}, and the gradient divided by it before the step")
    return [], said, scale


def step_faults(found: After) -> tuple[list[str], list[str]]:
    """What the optimizer did against its rule."""
    step = found.step
    if step is None:
        return [], []
    names, faults, remarks = np.array(found.reach.names, dtype=object), [], []
    missing, double = names[step.groups == 0], names[step.groups > 1]
    if len(missing):
        faults.append(
            f"{len(missing)} of {len(names)} trainable parameters are in no group of the optimizer: {few(missing)}"
        )
    if len(double):
        faults.append(f"{few(double)} stand in several places of the optimizer's groups")
    if step.unjudged:
        remarks.append(f"not judged: {step.unjudged}")
    took = (step.off.astype(int) & 1) > 0
    if took.any():
        share = float(np.nanmedian(step.consumed[took]))
        faults.append(f"the optimizer took in {share:.4g} times the gradient of {few(names[took])}")
    moved = (step.off.astype(int) & 2) > 0
    if moved.any():
        share = float(np.median(step.moved[moved]))
        faults.append(
            f"{few(names[moved])} moved by {share:.4g} times what {step.optimizer} prescribes"
            if np.isfinite(share)
            else f"{few(names[moved])} moved where {step.optimizer} prescribes no change"
        )
    if step.steps > 1:
        faults.append(f"the optimizer stepped {step.steps} times on the gradient of one window")
    if step.hidden.any():
        remarks.append(f"the change of {few(names[step.hidden])} is below the rounding of the parameter")
    flat = (found.dims <= 1) & (step.decay > 0)
    if flat.any():
        remarks.append(f"weight decay {float(np.max(step.decay[flat])):g} on {int(flat.sum())} norms and biases")
    return faults, remarks


def stages(record: Record, window: Window, faults: Sequence[tuple[str, str]], loss: str) -> list[str]:
    """One line for each stage: what the weight or the gradient is there, over what it should be."""
    found: After = window.after
    bad = {stage for stage, _ in faults}
    sums = ", ".join(f"{s.place} {s.scale:.6g} (residual {s.residual:.2g})" for s in found.sums) or "nothing compared"
    there = int(found.reach.nonzero.any(1).sum())
    lines = [
        f"loss      {loss}",
        f"backward  {mark('backward', bad)}: {there} of {len(found.reach.names)} parameters reached; {sums}",
    ]
    if found.ranks:
        p, parts = len(found.reach.names), int(found.part.sum())
        met = f"{p - int(odd(found).sum()) - parts} of {p} gradients are the same on all ranks"
        if parts:
            met = f"each rank holds its part of {parts} of {p} gradients" + (f", {met}" if parts < p else "")
        lines.append(f"all-reduce {mark('all-reduce', bad)}: {met}")
    factor = found.factor()
    if np.isfinite(factor).any():
        low, high = np.nanmin(factor), np.nanmax(factor)
        between = f"{low:.6g}" if high - low <= 1e-6 * high else f"{low:.6g} to {high:.6g}"
        lines.append(f"clip      {mark('clip', bad)}: gradients times {between}")
    if found.step is not None:
        both = (found.step.consumed, found.step.moved)
        consumed, moved = (float(np.nanmedian(x)) if np.isfinite(x).any() else np.nan for x in both)
        told = found.step.unjudged and f"not judged, {found.step.unjudged}"
        told = told or f"{found.step.optimizer}, consumed {consumed:.6g}, moved {moved:.6g}"
        lines.append(f"step      {mark('step', bad)}: {told}")
    return lines


def mark(stage: str, bad: set[str]) -> str:
    """Whether a stage is right."""
    return "FAULT" if stage in bad else "ok"
