"""Questions of public reports that no check of `weighbridge report` asks: heads, ranks, router, marks of assistants."""

from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from closed_forms import aggregation

from ..api import expected_weights, watch
from ..atlas import weights
from ..atlas.build import Subject
from ..atlas.cell import DEVIATES, OK, Cell
from ..atlas.heads import CAUSAL
from ..atlas.reader import LogitReader, shifts_of
from ..checks import FAULT, UNEVEN, Check
from ..checks import OK as RIGHT
from ..local_ranks import LocalRanks
from ..loops.trainer import run_trainer
from ..probe import tracer_rows
from ..ranks import merge
from ..report.report import Report
from . import reported_ranks, reported_text

GROUP, VISION, EVEN = "reported", "conditional-generation", (6, 6, 6, 6)
UNCOUNTED = "mean of micro-batch means, a short window divided by its own"


def reported_checks() -> list[Check]:
    """Every such question; all are asked of transformers."""

    def asked(name: str, expected: str, run: Callable[[], Cell]) -> Check:
        return Check(name, GROUP, expected, lambda: (run(), []), as_found)

    def four(label: str, name: str, head: str) -> Check:
        def run() -> Cell:
            return weights.accumulated(Subject(name, head).fresh(), 4, head)

        return asked(f"{label}, 4 micro-batches", "token mean", run)

    def trained(label: str, name: str, head: str, **older: int) -> Check:
        def run() -> Cell:
            subject = Subject(name, head)
            # Sizes that the config of older releases has under a name of its own.
            subject.config_arguments |= older
            return weights.targets(subject.fresh(), head)

        return asked(f"{label}, targets", "the next token", run)

    return [
        four("OPT", "opt", CAUSAL),
        four("T5", "t5", "encoder-decoder"),
        four("T5Gemma", "t5gemma", "encoder-decoder"),
        four("BERT, classes of rows", "bert", "sequence-classification"),
        four("Qwen2.5-VL", "qwen2_5_vl", VISION),
        asked("head without a count", UNCOUNTED, lambda: uncounted(2, 4)),
        asked("head without a count, tail window", UNCOUNTED, lambda: uncounted(1, 3)),
        trained("JetMoe", "jetmoe", CAUSAL, kv_channels=8),
        trained("Florence-2", "florence2", VISION),
        asked("GIT, targets", "the next token", pictured),
        asked("two ranks, as it comes", "token mean", on_two_ranks),
        asked("evaluation on two ranks", "the loss of one rank", evaluated),
        asked("router, padding", "padding weighs nothing", padded_router),
        asked("assistant marks, cut reply", "the reply's tokens", reported_text.cut),
        asked("assistant marks, one token at the start", "the replies' tokens", reported_text.at_the_start),
        asked("assistant marks, blank behind", "the reply's tokens", reported_text.blank_behind),
    ]


def as_found(cell: Any, logged: list[float]) -> tuple[str, str, float]:
    """What a cell says; one without an answer is not run.

    Raises:
        LookupError: the cell has no answer.
    """
    if cell.status not in (OK, DEVIATES):
        raise LookupError(cell.said)
    return cell.said, RIGHT if cell.status == OK else FAULT, cell.figure


def uncounted(micro_batch: int, accumulation: int) -> Cell:
    """A head that says that it takes no count, so that the Trainer divides by micro-batches itself."""
    model = Subject("gpt2").fresh()
    model.accepts_loss_kwargs = False
    with watch(model) as report:
        run_trainer(model, tracer_rows(UNEVEN), micro_batch=micro_batch, accumulation=accumulation)
    expected = expected_weights(report, aggregation.mean_of_micro_batch_means)
    ratios = [row.weight[row.scored] / due[row.scored] for row, due in zip(report.rows, expected)]
    off = float(np.max(np.abs(np.concatenate(ratios) - 1)))
    wrong = sorted({f"{float(r):.4g}" for row in ratios for r in row if abs(r - 1) > report.rounding()}, key=float)
    return Cell(DEVIATES if wrong else OK, off, f"targets weigh {', '.join(wrong)} times it" if wrong else UNCOUNTED)


def pictured() -> Cell:
    """GIT lays the tokens of a picture in front of the text: which token is each place of the text trained on?"""
    model = Subject("git").fresh()
    seen = model.config.vision_config
    given = weights.given_rows(model)
    places = (seen.image_size // seen.patch_size) ** 2 + 1
    torch.manual_seed(0)
    picture = torch.randn(len(given["input_ids"]), 3, seen.image_size, seen.image_size)
    with LogitReader(model) as reader:
        weights.backward(model, {**given, "pixel_values": picture})
    rows = reader.record().windows[0].rows
    found = shifts_of(rows, [[-1] * places + ids for ids in given["input_ids"].tolist()])
    due = int((given["labels"][:, 1:] != -100).sum())
    wrong = due - found.get(1, 0)
    said = ", ".join(f"{n} places on the token {shift} on" for shift, n in sorted(found.items(), key=str))
    return Cell(DEVIATES if wrong or len(found) > 1 else OK, wrong / due, said)


def on_two_ranks() -> Cell:
    """One row on each of two ranks, of 3 and of 11 targets, with the arguments' own defaults."""
    with LocalRanks(2, seconds=240) as ranks:
        report = Report(merge(ranks.run(reported_ranks.trained, tracer_rows((4, 12)))))
    off = report.deviation_from(expected_weights(report, aggregation.token_mean))
    faults = "; ".join(fault for verdict in report.verdicts for fault in verdict.faults)
    return Cell(OK if report.ok else DEVIATES, off, faults or "token mean over both ranks")


def evaluated() -> Cell:
    """The loss that an evaluation logs on two ranks, over the one of a single rank; all rows are equally long."""
    rows = tracer_rows(EVEN)
    one = reported_ranks.evaluated(rows)
    with LocalRanks(2, seconds=240) as ranks:
        two = ranks.run(reported_ranks.evaluated, rows)[0]
    off = two / one
    # float32 sums of a few losses; what was reported is a factor of two.
    return Cell(OK if abs(off - 1) <= 1e-5 else DEVIATES, off - 1, f"{off:.6f} times the loss of one rank")


def padded_router() -> Cell:
    """The balancing loss of Mixtral's router on rows with padding, over the one without, and the padding's gradient."""
    from transformers.models.mixtral.modeling_mixtral import load_balancing_loss_func

    experts, chosen = 4, 2
    torch.manual_seed(0)
    logits_bte = torch.randn(2, 5, experts, dtype=torch.float64)
    mask_bt = torch.tensor([[1, 1, 1, 1, 1], [1, 1, 1, 0, 0]])
    padded = logits_bte.reshape(-1, experts).requires_grad_()
    with_padding = load_balancing_loss_func((padded,), experts, chosen, mask_bt)
    without = load_balancing_loss_func((padded[mask_bt.reshape(-1).bool()],), experts, chosen)
    with_padding.backward()
    assert padded.grad is not None
    reached = float(padded.grad[~mask_bt.reshape(-1).bool()].abs().max())
    off = float(abs(with_padding / without - 1).detach())
    # A dozen sums of ten numbers and a division.
    clean = off <= 4 * 10 * torch.finfo(torch.float64).eps and reached == 0.0
    return Cell(
        OK if clean else DEVIATES, off, f"{1 + off:.6f} times the loss without padding, {reached:.2g} on padding"
    )
