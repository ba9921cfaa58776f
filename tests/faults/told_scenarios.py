"""Named runs whose weights, samples or verdicts are read where somebody is told of them: a ledger, a file, a page.

The loops are by hand, since some of them are wrong on purpose: what is wrong must be told.
"""

import json
import re
import tempfile
from types import SimpleNamespace

import numpy as np
import torch

from instrument import make_batch, tracer_rows, watch, xray_rows
from instrument.ledger import ledger, times
from instrument.probe import PAD
from instrument.report.report import Report
from tests.instrument import models

SAMPLES = ([5, 6, 7, 8], [7, 6, 5, 8], [5, 6, 9, 10], [11, 12, 13])
RAN = (2, 0, 0, 1)


def losses_of(model, rows, labels=None):
    """[targets] cross-entropy of each labelled target of a batch, row by row."""
    batch = make_batch(rows, labels)
    labels_bt = batch["labels"][:, 1:]
    logits_btv = model(**batch).logits[:, :-1]
    kept = labels_bt != -100
    return torch.nn.functional.cross_entropy(logits_btv[kept].double(), labels_bt[kept], reduction="none")


def probed(lengths, reduce, labels=None):
    """The report of one micro-batch of the probe, whose loss is made of its targets' losses and their number."""

    def step(model, rows):
        losses = losses_of(model, rows, None if labels is None else labels(rows))
        reduce(losses, sum(lengths) - len(lengths)).backward()

    return xray_rows(step, tracer_rows(lengths))


def judged(report):
    """Whether each window is right, by how much its weights are off, in units of 1/N, and how many formulas fit."""
    return [[float(v.ok), round(v.nearest.deviation, 6), len(v.same) + (v.name is not None)] for v in report.verdicts]


def ledger_samples():
    """Two samples of four ran, one of them twice; of the others, one has its tokens and one its beginning."""
    model = models.llama()
    with watch(model) as report:
        for sample, count in zip(SAMPLES, RAN):
            for _ in range(count):
                losses_of(model, [sample]).mean().backward()
    told = {"ran": RAN, "permuted": [0, 0, 1, 2], "beginning": [0, 1, 0, 2]}
    return [times(ledger(report.record), SAMPLES)], [told]


def packed(parts):
    """A batch of one row of several documents; the first token of each is no target."""
    return {
        "input_ids": torch.tensor([[token for part in parts for token in part]]),
        "position_ids": torch.tensor([[t for part in parts for t in range(len(part))]]),
        "labels": torch.tensor([[-100 if t == 0 else token for part in parts for t, token in enumerate(part)]]),
    }


def ledger_window():
    """Divisor, due and targets of two documents in a row and of one by itself, whose first target weighs twice."""
    model, parts = models.llama().double(), tracer_rows([4, 3, 5])
    with watch(model) as report:
        (model(**packed(parts[:2]), use_cache=False).loss * (5 / 9)).backward()
        losses = losses_of(model, parts[2:])
        ((losses.sum() + losses[0]) / 9).backward()
    entries = ledger(report.record)
    told = {"window": [[3, 2], [4]], "uneven": [False, False, True]}
    return [[number for e in entries for number in (e.divisor, e.due, e.targets)]], [told]


def ledger_saved():
    """Times that each of three documents of one row ran, by a record that was saved and read again."""
    model, parts = models.llama(), tracer_rows([4, 3, 5])
    with watch(model) as report:
        model(**packed(parts), use_cache=False).loss.backward()
    with tempfile.TemporaryDirectory() as folder:
        report.save(folder)
        kept = Report.load(folder)
    return [times(kept.ledger(), parts)], [{"samples": 3}]


def saved_window():
    """One micro-batch of two rows of a model of one's own, by a record that was saved and read again."""
    model = models.llama().double()
    with watch(model) as report:
        losses_of(model, tracer_rows([12, 18])).mean().backward()
    with tempfile.TemporaryDirectory() as folder:
        report.save(folder)
        return Report.load(folder), [{"window": [[11, 17]]}]


def read_again(rows):
    """Rows of weights in the shape of a report."""
    found = [SimpleNamespace(weight=np.array(row, dtype=float)) for row in rows]
    return SimpleNamespace(windows=[SimpleNamespace(carried=[], by_micro_batch=lambda: found)])


def told_in_json():
    """One micro-batch of two rows of which three targets are not scored, by the report's JSON."""
    dropped = [[False, True, False], [False, False, True, True, False, False]]

    def labels(rows):
        return [[row[0]] + [-100 if d else t for t, d in zip(row[1:], drop)] for row, drop in zip(rows, dropped)]

    report = probed([4, 7], lambda losses, targets: losses.mean(), labels)
    (window,) = json.loads(report.to_json())["windows"]
    told = {"window": [[3, 6]], "dropped": dropped}
    return read_again([[np.nan if w is None else w for w in row["weight"]] for row in window["rows"]]), [told]


def told_in_table():
    """One micro-batch of two rows, by the report's table, whose four decimals hold a share of ten targets."""
    report = probed([3, 9], lambda losses, targets: losses.mean())
    cells = re.findall(r"^\d+ +\d+ +\d+ +(\d\.\d{4}(?: \d\.\d{4})*) ", str(report), re.MULTILINE)
    return read_again([np.array(cell.split(), dtype=float) / 10 for cell in cells]), [{"window": [[2, 8]]}]


def judged_opposed():
    """One micro-batch in which the first target of a row is a hundredth too heavy, and the next one too light."""

    def reduce(losses, targets):
        return (losses.sum() + 0.01 * (losses[0] - losses[1])) / targets

    return judged(probed([4, 7], reduce)), [{"off": 0.01}]


def judged_even():
    """Two micro-batches of one row of three targets each, on which four formulas are the same."""

    def step(model, rows):
        for row in rows:
            (losses_of(model, [row]).mean() / 2).backward()

    return judged(xray_rows(step, tracer_rows([4, 4]))), [{"formulas": 4}]


def judged_windows():
    """Two windows of two rows, of which the second weighs one and a half times too much."""

    def step(model, rows):
        optimizer = torch.optim.SGD(model.parameters(), lr=0.0)
        for factor, some in ((1.0, rows[:2]), (1.5, rows[2:])):
            (factor * losses_of(model, some).mean()).backward()
            optimizer.step()
            optimizer.zero_grad()

    return judged(xray_rows(step, tracer_rows([4, 7, 3, 6]))), [{"right": (True, False)}]


def judged_unlabelled():
    """One micro-batch of two rows, whose last tokens carry no label though they should."""
    report = probed([4, 7], lambda losses, targets: losses.mean(), lambda rows: [[*row[:-1], -100] for row in rows])
    return judged(report), [{"right": (False,)}]


def judged_padding():
    """One micro-batch of two rows in which the padding has a loss too, which weighs a thousandth."""
    model, batch = models.llama().double(), make_batch(tracer_rows([4, 7]))
    with watch(model) as report:
        output = model(**batch)
        (output.loss + 1e-3 * output.logits[batch["input_ids"] == PAD].square().mean()).backward()
    return judged(report), [{"right": (False,)}]


def judged_stray():
    """One micro-batch of two rows of which the longer one's last token, which no target follows, has a loss too."""

    def step(model, rows):
        output = model(**make_batch(rows))
        (output.loss + 1e-3 * output.logits[1, -1].logsumexp(-1)).backward()

    return judged(xray_rows(step, tracer_rows([4, 7]))), [{"right": (False,)}]


def judged_missing():
    """One micro-batch of two of three rows that were given."""
    report = xray_rows(lambda model, rows: losses_of(model, rows[:2]).mean().backward(), tracer_rows([4, 7, 3]))
    return judged(report), [{"right": (False,)}]


def smoothed_losses(model, rows, shares):
    """[targets] losses under label smoothing with a share for each target."""
    batch = make_batch(rows)
    labels_bt = batch["labels"][:, 1:]
    kept = labels_bt != -100
    log_p_nv = model(**batch).logits[:, :-1][kept].log_softmax(-1)
    own_n = -log_p_nv.gather(-1, labels_bt[kept][:, None])[:, 0]
    share_n = torch.tensor(shares)
    return (1 - share_n) * own_n - share_n * log_p_nv.mean(-1)


def judged_uneven_smoothing():
    """One micro-batch of two rows, of which one is smoothed three times as much as the other."""

    def step(model, rows):
        smoothed_losses(model, rows, [0.3] * 3 + [0.1] * 6).mean().backward()

    return judged(xray_rows(step, tracer_rows([4, 7]))), [{"right": (False,)}]


def probed_unemptied():
    """The second of two windows of the probe whose gradients are never set to zero, with what is left of the first."""

    def step(model, rows):
        optimizer = torch.optim.SGD(model.parameters(), lr=0.0)
        for some in (rows[:1], rows[1:]):
            losses_of(model, some).mean().backward()
            optimizer.step()

    report = xray_rows(step, tracer_rows([4, 7]))
    windows = [[[3]], [[6]]]
    return report, [{"window": windows[w], "windows": windows[: w + 1]} for w in range(2)]


TOLD = (
    ledger_samples,
    ledger_window,
    ledger_saved,
    saved_window,
    told_in_json,
    told_in_table,
    judged_opposed,
    judged_even,
    judged_windows,
    judged_unlabelled,
    judged_padding,
    judged_stray,
    judged_missing,
    judged_uneven_smoothing,
    probed_unemptied,
)
