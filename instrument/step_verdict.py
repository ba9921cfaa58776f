"""Compares what an optimizer did with its own rule, and keeps a few numbers of each parameter."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from closed_forms import rounding, updates

from .after_record import Step
from .record import Floats
from .step_reading import Reading

Numbers = NDArray[np.int64]


def compared(reading: Reading) -> Step:
    """What the optimizer consumed and did, against its rule."""
    p = len(reading.names)
    rate, decay = (np.array([float(o.get(name, np.nan)) for o in reading.options]) for name in ("lr", "weight_decay"))
    unjudged = why_unjudged(reading)
    unknown, no = np.full(p, np.nan), np.zeros(p, dtype=bool)
    step = Step(
        reading.kind, unjudged, rate, decay, reading.groups, unknown, unknown.copy(), off=np.zeros(p), hidden=no
    )
    step.ended = np.where(np.isnan(reading.after).all(1), np.nan, np.nansum(reading.after, 1))
    if not unjudged:
        # A gradient that is not finite is told of before.
        with np.errstate(invalid="ignore"):
            for numbers in alike(reading):
                judge(reading, numbers, step)
    return step


def alike(reading: Reading) -> list[Numbers]:
    """The parameters with a gradient, put together where options, type, step and the kinds of state are the same."""
    came = np.array(~np.isnan(reading.gradient).all(1))
    kinds = np.array(
        [~np.isnan(x).all(1) for of in (reading.state_before, reading.state_after) for x in of.values()], dtype=bool
    )
    found: dict[Any, list[int]] = {}
    for number, options in enumerate(reading.options):
        if options and came[number]:
            state = tuple(kinds[:, number]) if len(kinds) else ()
            key = (id(options), reading.dtypes[number], reading.steps[number], state)
            found.setdefault(key, []).append(number)
    return [np.array(numbers) for numbers in found.values()]


def why_unjudged(reading: Reading) -> str:
    """Why the rule of this optimizer is not known here."""
    if reading.kind not in ("Adam", "AdamW", "SGD"):
        return f"optimizer {reading.kind}"
    if any(o.get("differentiable") for o in reading.options):
        return f"{reading.kind} with differentiable=True"
    return ""


@dataclass
class Rows:
    """Parameters that are alike; 0 beyond a small one's size, where nothing changes by the rule.

    Letters: n parameters, k elements read of each.

    Attributes:
        options: of their group.
        u, least: unit roundoff of their type, and its smallest number.
        count: number of this step, from 1.
        before, after: [n, k] of each tensor of the optimizer's state that they have.
    """

    options: dict[str, Any]
    u: float
    least: float
    count: int
    before: dict[str, Floats]
    after: dict[str, Floats]


def judge(reading: Reading, numbers: Numbers, step: Step) -> None:
    """Fill in parameters that are alike."""
    beyond = np.isnan(reading.before[numbers])

    def read(of: Floats) -> Floats:
        return np.where(beyond, 0.0, of[numbers])

    def state(of: dict[str, Floats]) -> dict[str, Floats]:
        return {name: read(x) for name, x in of.items() if not np.isnan(x[numbers]).all()}

    options, dtype = reading.options[numbers[0]], reading.dtypes[numbers[0]]
    count = int(reading.steps[numbers[0]])
    before, after = state(reading.state_before), state(reading.state_after)
    rows = Rows(options, rounding.unit_roundoff(dtype), rounding.smallest(dtype), count, before, after)
    p, gradient = read(reading.before), read(reading.gradient) / reading.grad_scale
    g = -gradient if options.get("maximize") else gradient
    decoupled = reading.kind == "AdamW" or bool(options.get("decoupled_weight_decay"))
    decay = options.get("weight_decay", 0)
    size = np.abs(g)
    if not decoupled:
        g, size = updates.decayed(g, p, decay), size + np.abs(decay * p)
    rule = sgd(rows, g, size) if reading.kind == "SGD" else adam(rows, p, g, size, decay * decoupled)
    taken, missed, change, terms = rule
    measured = read(reading.after) - p
    allowed = updates.change_error(p, change, terms, dtype)
    off = (np.abs(measured - change) > allowed).any(1)
    square = np.sum(change**2, 1)
    still = np.where(measured.any(1), np.inf, 1.0)
    step.consumed[numbers] = taken
    step.moved[numbers] = np.divide(np.sum(measured * change, 1), square, out=still, where=square != 0)
    step.off[numbers] = missed + 2 * off
    step.hidden[numbers] = (square != 0) & (allowed >= np.abs(change)).all(1)


def adam(rows: Rows, p: Floats, g: Floats, size: Floats, decay: float) -> tuple[Floats, Any, Floats, Floats]:
    """[n] share of the gradient that the moments took in, whether one is off; [n, k] the change by the rule, its terms.

    Args:
        rows: the parameters.
        p: [n, k] they before the step.
        g: [n, k] gradient, with coupled decay.
        size: [n, k] sum of the absolute values that g is added up from.
        decay: the decoupled one.
    """
    options, u = rows.options, rows.u
    beta1, beta2 = options["betas"]
    if not {"exp_avg", "exp_avg_sq"} <= set(rows.after):
        return np.zeros(len(g)), g.astype(bool).any(1), np.zeros_like(p), np.zeros_like(p)
    m, v = (rows.before.get(name, np.zeros_like(g)) for name in ("exp_avg", "exp_avg_sq"))
    m_after, v_after = rows.after["exp_avg"], rows.after["exp_avg_sq"]
    m_rule, v_rule = updates.moments(g, m, v, beta1, beta2)
    # lerp rounds g - m, its product and the sum; the square doubles what g itself errs by.
    # A square may come out below the normal numbers, where a rounding errs by more than u.
    allowed = (
        6 * (u * (np.abs(m) + (1 - beta1) * size) + rows.least),
        8 * (u * (v_rule + (1 - beta2) * np.abs(g) * size) + rows.least),
    )
    pairs = zip((m_after, v_after), (m_rule, v_rule), allowed)
    missed = np.array([(np.abs(came - due) > most).any(1) for came, due, most in pairs]).any(0)
    took = (m_after - beta1 * m) / (1 - beta1)
    second = rows.after.get("max_exp_avg_sq", v_after)
    rule = {"step": rows.count, "lr": options["lr"], "beta1": beta1, "beta2": beta2}
    change = updates.adam_change(p, m_after, second, **rule, eps=options["eps"], decay=decay)
    direction = np.abs(change + options["lr"] * decay * p)
    return ratio(took, g), missed, change, direction + np.abs(options["lr"] * decay * p)


def sgd(rows: Rows, g: Floats, size: Floats) -> tuple[Floats, Any, Floats, Floats]:
    """As adam."""
    options, u, n = rows.options, rows.u, len(g)
    momentum, lr = options.get("momentum", 0), options["lr"]
    if not momentum:
        change = updates.sgd_change(g, None, lr, 0, False)
        return np.ones(n), np.zeros(n, dtype=bool), change, lr * size
    if "momentum_buffer" not in rows.after:
        return np.zeros(n), g.astype(bool).any(1), np.zeros_like(g), np.zeros_like(g)
    b, b_after = rows.before.get("momentum_buffer"), rows.after["momentum_buffer"]
    rule = updates.buffer(g, b, momentum, options.get("dampening", 0))
    kept = np.zeros_like(g) if b is None else momentum * b
    missed = (np.abs(b_after - rule) > 6 * (u * (np.abs(kept) + size) + rows.least)).any(1)
    share = 1 if b is None else 1 - options.get("dampening", 0)
    change = updates.sgd_change(g, b_after, lr, momentum, bool(options.get("nesterov")))
    took = ratio((b_after - kept) / share, g) if share else np.full(n, np.nan)
    return took, missed, change, lr * (size + np.abs(kept) + np.abs(b_after))


def ratio(a: Floats, b: Floats) -> Floats:
    """[n] least-squares factor between two arrays [n, k]; nan where the second is zero."""
    square = np.sum(b * b, 1)
    return np.divide(np.sum(a * b, 1), square, out=np.full(len(b), np.nan), where=square != 0)
