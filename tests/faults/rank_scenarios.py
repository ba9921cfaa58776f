"""Named runs on two ranks: the weights of one window, or how often each sample of an epoch ran."""

import torch

from instrument import tracer_rows
from instrument.ledger import ledger, times
from tests.properties.loops import live_rows
from tests.ranks.jobs import probed, watched
from tests.ranks.pool import measured
from tests.ranks.step_jobs import by_ddp


def ranks_trainer():
    """One window of the Trainer: two micro-batches of two rows on each rank."""
    rows = tracer_rows([4, 7, 12, 3, 5, 9, 6, 8])
    labelled = [[True] * (len(row) - 1) for row in rows]
    report = measured(probed, "trainer", rows, labelled, {"micro_batch": 2, "accumulation": 2})
    ranks = [[[3, 6], [4, 8]], [[11, 2], [5, 7]]]
    return report, [{"window": [n_b for n_mb in ranks for n_b in n_mb], "ranks": ranks}]


def epoch(samples, loop="trainer", **options):
    """Times that each of so many samples ran in one epoch of steps of one sample on each rank."""
    rows = live_rows([4 + n % 3 for n in range(samples)], 0)
    report = measured(watched, loop, 0, rows, rows, {"micro_batch": 1, **options})
    return [times(ledger(report.record), rows)], [{"samples": samples, "parts": 2, "batch": 1}]


def ranks_epoch():
    """Eight samples, dealt in turn."""
    return epoch(8)


def ranks_uneven():
    """Seven samples, of which the first runs once more."""
    return epoch(7)


def ranks_shuffled():
    """Eight samples, shuffled with seed 1; a rank that added its number would have the order of another seed."""
    ran, (known,) = epoch(8, train_sampling_strategy="random", data_seed=1)
    orders = [torch.randperm(8, generator=torch.Generator().manual_seed(1 + rank)).tolist() for rank in range(2)]
    return ran, [{**known, "orders": orders}]


def ranks_dispatched():
    """Eight samples that one rank reads, all of one width, and shares out."""
    return epoch(8, pad_to=6, accelerator_config={"dispatch_batches": True})


def ranks_iterable():
    """A stream of eight samples."""
    return epoch(8, loop="stream")


def ranks_step():
    """One window of a loop by hand, two micro-batches of a row on each rank, watched with its optimizer."""
    rows = live_rows([4, 7, 5, 3], 0)
    report = measured(by_ddp, 0, rows, rows, 1, 2)
    return report, [{"micro_batches": 4, "ranks": 2}]


RANKS = (ranks_step, ranks_trainer, ranks_epoch, ranks_uneven, ranks_shuffled, ranks_dispatched, ranks_iterable)
