"""Named runs of real loops in which faults show, and what closed forms need to know of each.

The arguments come from the rows that are handed to the loop, never from what was measured.
"""

import itertools
from dataclasses import dataclass

import torch
from accelerate import Accelerator

from instrument import make_batch, tracer_rows, xray
from instrument.api import Report, xray_rows
from instrument.leak_record import Leaks
from instrument.loops.data import library_collator
from instrument.loops.trainer import run_trainer
from instrument.probe import PAD, vocabulary_for
from tests.faults.absence_scenarios import ABSENCE
from tests.faults.feeding_scenarios import FEEDING
from tests.faults.head_scenarios import HEADS
from tests.faults.leak_scenarios import LEAKS
from tests.faults.rank_scenarios import RANKS
from tests.faults.told_scenarios import TOLD
from tests.faults.trl_scenarios import OBJECTIVES
from tests.faults.update_scenarios import UPDATES
from tests.faults.wrong_step_scenarios import WRONG_STEPS


@dataclass(frozen=True)
class Run:
    """One run.

    Attributes:
        report: what was measured; of a run that looks for leaks, those of each batch that was searched; of two runs
            that are compared, which parts of them differ; of an epoch, how often each sample ran; of windows that are
            judged, the numbers of each verdict.
        arguments: [w] arguments for closed forms of window w, or of batch w, by name.
        logged: [w] the loss that the loop logged; empty where it logs none.
    """

    report: Report | list[Leaks] | list[list[bool]] | list[list[int]] | list[list[float]]
    arguments: list[dict]
    logged: list[float]


def trainer_accumulation():
    """One window of three micro-batches of unequal rows."""
    logged = []

    def step(model, rows):
        logged.extend(run_trainer(model, rows, micro_batch=2, accumulation=3))

    report = xray(step, [4, 7, 12, 3, 5, 9])
    return Run(report, [{"window": [[3, 6], [11, 2], [4, 8]]}], logged)


def trainer_tail_without_count():
    """A window of three micro-batches and a tail of two, through a model whose loss takes no count."""
    logged = []

    def step(model, rows):
        model.accepts_loss_kwargs = False
        logged.extend(run_trainer(model, rows, micro_batch=2, accumulation=3))

    report = xray(step, [4, 7, 12, 3, 5, 9, 6, 2, 8])
    windows = [[[3, 6], [11, 2], [4, 8]], [[5, 1], [7]]]
    return Run(report, [{"window": window, "accumulation": 3} for window in windows], logged)


def trainer_two_logs():
    """Two windows of two micro-batches, each logged."""
    logged = []

    def step(model, rows):
        logged.extend(run_trainer(model, rows, micro_batch=1, accumulation=2))

    report = xray(step, [4, 7, 12, 3])
    windows = [[[3], [6]], [[11], [2]]]
    return Run(report, [{"window": window, "number": w} for w, window in enumerate(windows)], logged)


def trainer_first_log():
    """One window of two micro-batches, logged because it is the first of a run that logs every third step."""
    logged = []

    def step(model, rows):
        options = {"logging_steps": 3, "logging_first_step": True}
        logged.extend(run_trainer(model, rows, micro_batch=2, accumulation=2, **options))

    report = xray(step, [4, 7, 12, 3])
    return Run(report, [{"window": [[3, 6], [11, 2]], "logging_steps": 3}], logged)


def trainer_collator():
    """One window of two padded micro-batches from the library's collator; every row ends with the end token."""
    rows = tracer_rows([3, 6, 8, 4], end_with_eos=True)
    collator = library_collator(vocabulary_for(rows), PAD)
    logged = []

    def step(model, rows):
        logged.extend(run_trainer(model, rows, micro_batch=2, accumulation=2, collator=collator))

    report = xray_rows(step, rows)
    ends = [[False] * (len(row) - 2) + [True] for row in rows]
    # Four tokens beside seven, and nine beside five.
    return Run(report, [{"window": [[3, 6], [8, 4]], "dropped": ends, "padding": 3 + 4}], logged)


def accelerate_windows():
    """Three windows of one micro-batch; a learning rate of 0 keeps old gradients readable at the present weights."""
    windows = [[[3, 6]], [[11, 2]], [[8]]]

    def step(model, rows):
        accelerator = Accelerator(cpu=True)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.0)
        model, optimizer = accelerator.prepare(model, optimizer)
        sizes = iter(rows)
        for (micro_batch,) in windows:
            batch = make_batch(list(itertools.islice(sizes, len(micro_batch))))
            accelerator.backward(model(**batch).loss)
            optimizer.step()
            optimizer.zero_grad()

    report = xray(step, [n + 1 for window in windows for rows in window for n in rows])
    # Every row of a batch is as long as its longest, which has one token more than targets.
    positions = [len(rows) * (max(rows) + 1) for (rows,) in windows]
    known = zip(windows, positions)
    told = [{"window": rows, "windows": windows[: w + 1], "positions": t} for w, (rows, t) in enumerate(known)]
    return Run(report, told, [])


def unlogged(scenario):
    """A scenario whose log nobody asks for, as a run."""

    def run():
        found, arguments = scenario()
        return Run(found, arguments, [])

    return run


LOGGED = (
    trainer_accumulation,
    trainer_tail_without_count,
    trainer_two_logs,
    trainer_first_log,
    trainer_collator,
    accelerate_windows,
)
SCENARIOS = {run.__name__: run for run in LOGGED} | {
    scenario.__name__: unlogged(scenario)
    for scenario in (*LEAKS, *FEEDING, *ABSENCE, *HEADS, *OBJECTIVES, *RANKS, *TOLD, *UPDATES, *WRONG_STEPS)
}
