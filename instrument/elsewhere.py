"""What a window's gradient holds besides the weights of its scored targets."""

import numpy as np

from .readable import tolerance, unreadable
from .record import Record, Row, Window
from .smoothing import left_by, smoothing_of


def elsewhere_in_gradient(window: Window) -> list[str]:
    """Gradient where there should be none, exactly 0 on a correct stack, or none at all."""
    faults = []
    stray = sum(int(np.sum(row.weight[~row.intended] != 0)) for row in window.rows)
    if stray:
        faults.append(f"{stray} tokens that should not be scored have a gradient")
    if window.stray:
        ids = ", ".join(map(str, window.stray[:5])) + (" ..." if len(window.stray) > 5 else "")
        faults.append(f"{len(window.stray)} ids that precede no target of the rows have a gradient: {ids}")
    if window.padding:
        faults.append(f"gradient reaches padding, up to {window.padding:.3g} of the largest at a token")
    if window.carried:
        faults.append(f"the gradient still holds {len(window.carried)} rows that did not run in this window")
    # What was measured after backward tells where the ranks part.
    if not window.synchronised and not (window.after is not None and window.after.ranks):
        faults.append(f"the {window.ranks} ranks are about to step on different gradients: they were not averaged")
    if not window.reached:
        faults.append(f"0 of {window.trainable} trainable parameters hold a gradient")
    return faults


def missing(record: Record) -> list[str]:
    """Rows that were given and never ran."""
    rows = ", ".join(map(str, record.missing))
    return [f"{len(record.missing)} of the rows that were given never ran: {rows}"] if rows else []


def elsewhere(record: Record, window: Window, n: int, hidden: float = 0.0) -> list[str]:
    """What is wrong apart from the weights of scored targets; hidden: share of smoothing where none can be seen."""
    faults = elsewhere_in_gradient(window)
    rows = window.rows
    share, low, high = smoothing_of(record, window)
    odd = sum(int(np.sum(unexplained(record, row, window.micro_batches, share or hidden))) for row in rows)
    if odd:
        faults.append(
            f"the gradient of {odd} of {n} targets is not a multiple of their own: another term or target is in"
        )
    others = sum(not_the_next(row) for row in rows)
    if others:
        faults.append(f"{others} of {n} targets are scored on another token than the one that follows in their row")
    # Label smoothing is one number for all; a share is off by at most the rounding of its target, and so is the median.
    errors = [tolerance(record, row, window.micro_batches)[row.scored] for row in rows]
    slack = 2 * float(np.nanmax(np.concatenate(errors), initial=0.0))
    if low < share - slack or high > share + slack or not 0 <= share < 1:
        faults.append(f"the share of a target's weight that is spread over the vocabulary is {low:.3g} to {high:.3g}")
    lost = lost_on_the_way(window)
    if lost:
        faults.append(
            f"backward delivered other weights than the parameter's gradient holds, for {lost} of {n} targets"
        )
    return faults


def not_the_next(row: Row) -> int:
    """Scored targets that are not the next token of their row, as where labels were shifted before the model shifts."""
    follows = row.ids[1 : row.target.size + 1]
    return int(np.sum(row.scored[: follows.size] & (row.target[: follows.size] != follows)))


def lost_on_the_way(window: Window) -> int:
    """Targets whose weight in the parameter's gradient is not what backward delivered."""
    # Both are sums of the same float64 numbers, in another order.
    same = [np.isclose(r.backward_weight, r.weight, rtol=1e-9, atol=0, equal_nan=True) for r in window.rows]
    return int(sum(np.sum(~near) for near in same))


def remarks(record: Record, window: Window, scored: int, share: float = 0.0) -> list[str]:
    """What a reader should know though nothing is wrong; share of label smoothing, if known otherwise."""
    said = []
    smoothing = smoothing_of(record, window)[0] or share
    if smoothing:
        said.append(f"label smoothing {smoothing:.3g}")
    blind = unreadable(record, window)
    if 0 < blind < scored:
        said.append(
            f"{blind} of {scored} targets cannot be read: rounding in {record.work_dtype} explains a tenth of a weight "
            "or more, as where the model is certain"
        )
    if not window.stepped:
        said.append("no optimizer step followed")
    return said


def unexplained(record: Record, row: Row, micro_batches: int, share: float = 0.0) -> np.ndarray:
    """[n] scored targets whose gradient has a part that neither the target nor label smoothing explains."""
    allowed = tolerance(record, row, micro_batches) * np.abs(row.weight + row.uniform)
    return row.scored & (row.remainder > allowed + left_by(record, row, micro_batches, share))
