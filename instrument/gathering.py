"""What the ranks of a run have to do with each other while it is measured: what each notes, and how all of it meets."""

import hashlib
from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any

import torch
import torch.distributed as dist
from torch import nn

from .ranks import merge
from .record import Record, Row, Window, refuse_unscored
from .refusals import sharded


def place() -> tuple[int, int]:
    """Which rank this process is, of how many; (-1, 1) without a process group of several."""
    if dist.is_available() and dist.is_initialized() and dist.get_world_size() > 1:
        return dist.get_rank(), dist.get_world_size()
    return -1, 1


def note(record: Record, window: Window, model: nn.Module, after_averaging: bool = False, silent: bool = False) -> None:
    """Add a window to the record of this rank. It must be called before the optimizer steps.

    Every wrapper averages gradients over the ranks, so a token's weight in the averaged gradient is its weight on its
    own rank over their number. No collective is needed for that, and none is made.

    Args:
        after_averaging: all but the backward_weight was read from the averaged gradient.
        silent: as for LiveRecorder.

    Raises:
        ValueError: nothing is scored in it, on a single rank; where there are more, the others may score something.
    """
    record.rank, record.ranks = place()
    if record.ranks == 1:
        if not silent:
            refuse_unscored(window, len(record.windows))
    else:
        local = ["backward_weight"] if after_averaging else ["weight", "remainder", "uniform", "backward_weight"]
        rows = [averaged(row, record.ranks, local) for row in window.rows]
        window = replace(window, rows=rows, consumed=digest_of_gradient(model))
    record.windows.append(window)


def averaged(row: Row, ranks: int, names: Sequence[str]) -> Row:
    """A row of one rank as it stands in the average over the ranks, what the names say being its rank's own."""
    return replace(row, **{name: getattr(row, name) / ranks for name in names})


def digest_of_gradient(model: nn.Module) -> str:
    """Tell the gradient that is about to be consumed from any other, by that of the smallest parameter that has one.

    All ranks get the same bits from an all-reduce. Empty where a rank holds a part of its parameters only.
    """
    held = [p for p in model.parameters() if p.requires_grad and p.grad is not None]
    if not held or any(sharded(p) for p in held):
        return ""
    smallest = min(held, key=torch.numel).grad
    assert smallest is not None
    return hashlib.blake2b(smallest.detach().cpu().float().numpy().tobytes(), digest_size=8).hexdigest()


def gather(record: Record, seconds: float) -> Record:
    """Exchange the records of all ranks; every rank must call it, and gets all of them as one.

    Raises:
        RuntimeError: a rank did not come in time.
        ValueError: as `merge`.
    """
    if record.ranks == 1:
        return record
    return merge(exchange(record, record.ranks, seconds))


def exchange(own: Any, ranks: int, seconds: float) -> list[Any]:
    """[rank] what each rank hands over; every rank must call it.

    Raises:
        RuntimeError: a rank did not come in time.
    """
    try:
        # A group of its own: it works on the CPU whatever the run's backend is, and waits no longer than this.
        group = dist.new_group(backend="gloo", timeout=timedelta(seconds=seconds))
        found: list[Any] = [None] * ranks
        dist.all_gather_object(found, own, group=group)
        dist.destroy_process_group(group)
    except RuntimeError as error:
        raise RuntimeError(
            f"not all of {ranks} ranks handed over their record within {seconds:g} s: one of them failed, or "
            "never called this; every rank can save its own instead, to be merged later"
        ) from error
    return found
