"""Compares what an optimizer did with its own rule, parameter by parameter, and keeps a few numbers of each."""

from typing import Any

import numpy as np

from closed_forms import rounding, updates

from .after_record import Step
from .record import Floats
from .step_reading import Reading


def compared(reading: Reading) -> Step:
    """What the optimizer consumed and did, against its rule."""
    p = len(reading.names)
    rate, decay = (np.array([float(o.get(name, np.nan)) for o in reading.options]) for name in ("lr", "weight_decay"))
    unjudged = why_unjudged(reading)
    unknown, no = np.full(p, np.nan), np.zeros(p, dtype=bool)
    step = Step(
        reading.kind, unjudged, rate, decay, reading.groups, unknown, unknown.copy(), off=np.zeros(p), hidden=no
    )
    for number in range(p):
        if not unjudged and reading.options[number] and not np.isnan(reading.gradient[number]).all():
            judge_one(reading, number, step)
    return step


def why_unjudged(reading: Reading) -> str:
    """Why the rule of this optimizer is not known here."""
    if reading.kind not in ("Adam", "AdamW", "SGD"):
        return f"optimizer {reading.kind}"
    if any(o.get("differentiable") for o in reading.options):
        return f"{reading.kind} with differentiable=True"
    return ""


def judge_one(reading: Reading, number: int, step: Step) -> None:
    """Fill in one parameter."""
    options, kept = reading.options[number], ~np.isnan(reading.before[number])
    p, after, gradient = (x[number, kept] for x in (reading.before, reading.after, reading.gradient))
    gradient = gradient / reading.grad_scale
    g = -gradient if options.get("maximize") else gradient
    decoupled = reading.kind == "AdamW" or bool(options.get("decoupled_weight_decay"))
    decay = options.get("weight_decay", 0)
    size = np.abs(g)
    if not decoupled:
        g, size = updates.decayed(g, p, decay), size + np.abs(decay * p)

    def state(of: dict[str, Floats], name: str) -> Any:
        return of[name][number, kept] if name in of and not np.isnan(of[name][number]).all() else None

    if reading.kind != "SGD":
        taken, missed, change, terms = adam(reading, number, p, g, size, state, decay if decoupled else 0)
    else:
        taken, missed, change, terms = sgd(reading, number, g, size, state)
    measured = after - p
    allowed = updates.change_error(p, change, terms, reading.dtypes[number])
    off = np.abs(measured - change) > allowed
    square = float(np.sum(change**2))
    step.consumed[number] = taken
    still = np.inf if measured.any() else 1.0
    step.moved[number] = float(np.sum(measured * change)) / square if square else still
    step.off[number] = int(missed) + 2 * int(off.any())
    step.hidden[number] = bool(square) and bool(np.all(allowed >= np.abs(change)))


def adam(
    reading: Reading, number: int, p: Floats, g: Floats, size: Floats, state: Any, decay: float
) -> tuple[float, bool, Floats, Floats]:
    """Share of the gradient that the moments took in, whether one is off, the change by the rule, and its terms.

    Args:
        size: sum of the absolute values that g is added up from.
        state: state(which, name) is a tensor of the optimizer's state.
        decay: the decoupled one.
    """
    options, u = reading.options[number], rounding.unit_roundoff(reading.dtypes[number])
    beta1, beta2 = options["betas"]
    m, v = (state(reading.state_before, name) for name in ("exp_avg", "exp_avg_sq"))
    m, v = (np.zeros_like(g) if x is None else x for x in (m, v))
    m_after, v_after = (state(reading.state_after, name) for name in ("exp_avg", "exp_avg_sq"))
    if m_after is None or v_after is None:
        return 0.0, bool(g.any()), np.zeros_like(p), np.zeros_like(p)
    m_rule, v_rule = updates.moments(g, m, v, beta1, beta2)
    # lerp rounds g - m, its product and the sum; the square doubles what g itself errs by.
    allowed = (6 * u * (np.abs(m) + (1 - beta1) * size), 8 * u * (v_rule + (1 - beta2) * np.abs(g) * size))
    pairs = zip((m_after, v_after), (m_rule, v_rule), allowed)
    missed = any(bool(np.any(np.abs(came - due) > most)) for came, due, most in pairs)
    took = (m_after - beta1 * m) / (1 - beta1)
    top = state(reading.state_after, "max_exp_avg_sq")
    rule = {"step": int(reading.steps[number]), "lr": options["lr"], "beta1": beta1, "beta2": beta2}
    second = v_after if top is None else top
    change = updates.adam_change(p, m_after, second, **rule, eps=options["eps"], decay=decay)
    direction = np.abs(change + options["lr"] * decay * p)
    return ratio(took, g), missed, change, direction + np.abs(options["lr"] * decay * p)


def sgd(reading: Reading, number: int, g: Floats, size: Floats, state: Any) -> tuple[float, bool, Floats, Floats]:
    """As adam."""
    options, u = reading.options[number], rounding.unit_roundoff(reading.dtypes[number])
    momentum, lr = options.get("momentum", 0), options["lr"]
    if not momentum:
        change = updates.sgd_change(g, None, lr, 0, False)
        return 1.0, False, change, lr * size
    b, b_after = state(reading.state_before, "momentum_buffer"), state(reading.state_after, "momentum_buffer")
    if b_after is None:
        return 0.0, bool(g.any()), np.zeros_like(g), np.zeros_like(g)
    rule = updates.buffer(g, b, momentum, options.get("dampening", 0))
    kept = np.zeros_like(g) if b is None else momentum * b
    missed = bool(np.any(np.abs(b_after - rule) > 6 * u * (np.abs(kept) + size)))
    share = 1 if b is None else 1 - options.get("dampening", 0)
    change = updates.sgd_change(g, b_after, lr, momentum, bool(options.get("nesterov")))
    took = ratio((b_after - kept) / share, g) if share else float("nan")
    return took, missed, change, lr * (size + np.abs(kept) + np.abs(b_after))


def ratio(a: Floats, b: Floats) -> float:
    """Least-squares factor between two arrays; nan where the second is zero."""
    square = float(np.sum(b * b))
    return float(np.sum(a * b)) / square if square else float("nan")
