"""A callback for transformers' Trainer and for TRL: measures some of the optimizer steps while it trains."""

import math
import warnings
from typing import Any

import numpy as np
from transformers import Trainer, TrainerCallback

from .run.attach import Attached, attach
from .run.finding import FAULT
from .run.judge import judge_run
from .run.outcome import NO_VERDICT, Outcome
from .run.tell import LINK


class WeighbridgeCallback(TrainerCallback):  # type: ignore[misc]
    """Measure optimizer steps, log what was found, and object to a fault.

        Trainer(..., callbacks=[WeighbridgeCallback(on_fault="raise", every=100)])

    Numbers go to the trainer's own log, and so to whatever reads that: weighbridge/fault (0 or 1), weighbridge/lightest
    and weighbridge/heaviest (w*N), weighbridge/targets.

    Args:
        on_fault: "raise" ends the training with RuntimeError, "warn" warns, "log" does neither.
        every: measure each step whose number is a multiple of it, from the first one on; 0 for the first one only.

    Attributes:
        outcomes: of the measured steps, by number of the step.

    Raises:
        ValueError: another on_fault, or a negative every.
    """

    def __init__(self, on_fault: str = "raise", every: int = 0) -> None:
        if on_fault not in ("raise", "warn", "log"):
            raise ValueError(f"on_fault={on_fault!r}: give 'raise', 'warn' or 'log'")
        if every < 0:
            raise ValueError(
                f"every={every}: give how many steps lie between two measurements, or 0 for the first only"
            )
        self.on_fault, self.every = on_fault, every
        self.outcomes: dict[int, Outcome] = {}
        self._attached: Attached | None = None
        self._first = -1

    def on_step_begin(self, args: Any, state: Any, control: Any, **given: Any) -> None:
        """Attach before the first forward of a window."""
        if self._first < 0:
            self._first = state.global_step
        since = state.global_step - self._first
        if since and not (self.every and since % self.every == 0):
            return
        model, optimizer = given["model"], given["optimizer"]
        fused = any(kind.__module__.startswith("trl.") for kind in type(args).__mro__)
        try:
            self._attached = attach(model, {"fused_lm_head": fused}, [optimizer])
        except LookupError as reason:
            self._tell(state.global_step, None, Outcome(script=[], status=0, reason=str(reason.args[0])))

    def on_optimizer_step(self, args: Any, state: Any, control: Any, **given: Any) -> None:
        """Judge the window that a step has just ended."""
        self._judge(state.global_step)

    def on_step_end(self, args: Any, state: Any, control: Any, **given: Any) -> None:
        """Judge it here under releases of transformers that do not tell of the optimizer's step, such as 4.40."""
        self._judge(state.global_step - 1)

    def _judge(self, step: int) -> None:
        attached, self._attached = self._attached, None
        if attached is None:
            return
        attached.finish()
        record = attached.record
        if not record.windows:
            outcome = Outcome(script=[], status=0, reason=attached.problem or "no gradient came")
        else:
            tokenizer = attached.around.tokenizer
            right, findings, stages = judge_run(
                record, attached.objective, tokenizer, [attached.objective.hearing.heard]
            )
            outcome = Outcome([], 0, right, findings, record=record, tokenizer=tokenizer, stages=stages)
        self._tell(step, attached.around.trainer, outcome)

    def on_train_end(self, args: Any, state: Any, control: Any, **given: Any) -> None:
        """Take off what a window without a step has left."""
        attached, self._attached = self._attached, None
        if attached is not None:
            attached.finish()

    def _tell(self, step: int, trainer: Any, outcome: Outcome) -> None:
        self.outcomes[step] = outcome
        if trainer is not None and outcome.verdict() != NO_VERDICT:
            # The base class's, since TRL's own gathers and forgets its metrics at each log.
            Trainer.log(trainer, numbers(outcome))
        faulty = [finding for finding in outcome.findings if finding.level == FAULT]
        if not faulty and outcome.verdict() != NO_VERDICT:
            return
        text = f"weighbridge, step {step}: {outcome.line()}" + (f" ({LINK}#{faulty[0].code})" if faulty else "")
        if faulty and self.on_fault == "raise":
            raise RuntimeError(text)
        if self.on_fault != "log":
            warnings.warn(text, stacklevel=2)


def numbers(outcome: Outcome) -> dict[str, float]:
    """What is logged of one step."""
    record = outcome.record
    assert record is not None
    window = record.windows[-1]
    weights = np.concatenate([row.weight[row.scored] for row in window.rows]) * max(window.targets(), 1)
    known = weights[np.isfinite(weights)]
    ends = (float(known.min()), float(known.max())) if known.size else (math.nan, math.nan)
    return {
        "weighbridge/fault": float(any(finding.level == FAULT for finding in outcome.findings)),
        "weighbridge/lightest": ends[0],
        "weighbridge/heaviest": ends[1],
        "weighbridge/targets": float(window.targets()),
    }
