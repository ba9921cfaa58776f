"""Named runs of the real Trainer that differ in what it is fed, in its loss, or in how it is read."""

import torch

from instrument import tracer_rows, watch, xray_rows
from instrument.leak_probe import build_leak_probe
from instrument.loops.trainer import run_trainer
from instrument.probe import vocabulary_for
from tests.faults.resume_scenarios import RESUMES

LENGTHS = [4, 7, 3, 9, 5, 6]


def trained(rows, told=(), **options):
    """Report of the Trainer on rows; `told` are further rows that the instrument looks for and nobody trains on."""

    def step(model, _):
        run_trainer(model, rows, learning_rate=0.0, **options)

    return xray_rows(step, [*rows, *told])


def trainer_two_apart():
    """One window of three rows, with an eye on what each token weighs as the input of the one after the next."""
    rows = tracer_rows([4, 7, 3])
    told = [[x, y] for row in rows for x, y in zip(row, row[2:])]
    return trained(rows, told, micro_batch=1, accumulation=3), [{"window": [[3], [6], [2]]}]


def trainer_itself():
    """One window of four rows, with an eye on what each token weighs as the input of itself."""
    rows = tracer_rows([4, 7, 3, 5])
    told = [[x, x] for row in rows for x in row]
    return trained(rows, told, micro_batch=2, accumulation=2), [{"window": [[3, 6], [2, 4]]}]


def trainer_smoothed():
    """One window of two micro-batches of unequal rows under label smoothing."""
    report = trained(tracer_rows([4, 7, 3, 5]), micro_batch=2, accumulation=2, label_smoothing_factor=0.25)
    return report, [{"window": [[3, 6], [2, 4]], "epsilon": 0.25}]


def trainer_windows():
    """Six windows of one row each."""
    windows = [[[n - 1]] for n in LENGTHS]
    before = [windows[w - w % 2] for w in range(len(windows))]
    report = trained(tracer_rows(LENGTHS), micro_batch=1)
    known = enumerate(zip(windows, before))
    return report, [{"window": window, "before": other, "number": w, "skipped": 2} for w, (window, other) in known]


def trainer_shuffled():
    """Six windows of one row each, shuffled with seed 1."""
    order = torch.randperm(len(LENGTHS), generator=torch.Generator().manual_seed(1)).tolist()
    windows = [[[n - 1]] for n in LENGTHS]
    report = trained(tracer_rows(LENGTHS), micro_batch=1, train_sampling_strategy="random", data_seed=1)
    drawn = [order[place - place % 2] for place in range(len(order))]
    known = zip(order, windows, drawn)
    return report, [{"window": windows[b], "given": given, "drawn": windows[other]} for b, given, other in known]


def trainer_first_targets():
    """One window of three micro-batches of two rows."""
    window = [[3, 6], [2, 8], [4, 5]]
    first = [[True] + [False] * (n - 1) for micro_batch in window for n in micro_batch]
    return trained(tracer_rows(LENGTHS), micro_batch=2, accumulation=3), [{"window": window, "dropped": first}]


def row_means(outputs, labels, num_items_in_batch):
    """A loss of the user's own: the mean over rows of the mean over each row's tokens."""
    logits, targets = outputs.logits[:, :-1].transpose(1, 2), labels[:, 1:]
    losses = torch.nn.functional.cross_entropy(logits, targets, reduction="none")
    return (losses.sum(-1) / (targets != -100).sum(-1)).mean()


def trainer_own_loss():
    """One window of one micro-batch of three rows under a loss of the user's own."""
    report = trained(tracer_rows([4, 7, 3]), micro_batch=3, compute_loss_func=row_means)
    return report, [{"window": [[3, 6, 2]]}]


def watched_accumulation():
    """One window of three micro-batches of two rows through a model that is watched."""
    rows = tracer_rows(LENGTHS)
    model = build_leak_probe(vocabulary_for(rows))
    with watch(model) as report:
        run_trainer(model, rows, micro_batch=2, accumulation=3)
    window = [[3, 6], [2, 8], [4, 5]]
    return report, [{"window": window}]


FEEDING = (
    trainer_two_apart,
    trainer_itself,
    trainer_smoothed,
    trainer_windows,
    trainer_shuffled,
    trainer_first_targets,
    trainer_own_loss,
    watched_accumulation,
    *RESUMES,
)
