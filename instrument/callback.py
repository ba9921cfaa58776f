"""A callback for transformers' Trainer and for TRL: measures some of the optimizer steps while it trains."""

import math
import warnings
from typing import Any

import numpy as np
from transformers import Trainer, TrainerCallback

from .gathering import exchange, place
from .ranks import merge
from .run.attach import Attached, attach
from .run.finding import FAULT
from .run.judge import judge_run
from .run.outcome import NO_VERDICT, Outcome
from .run.tell import LINK

# As long as torch itself waits for a rank.
SECONDS = 600.0


class WeighbridgeCallback(TrainerCallback):  # type: ignore[misc]
    """Measure optimizer steps, log what was found, and object to a fault.

        Trainer(..., callbacks=[WeighbridgeCallback(on_fault="raise", every=100)])

    On several ranks each of them needs it: behind a measured step they exchange what they measured, and all judge it.

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
        self._due, self._reason = False, ""
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
        self._due, self._reason = True, ""
        try:
            self._attached = attach(model, {"fused_lm_head": fused}, [optimizer])
        except LookupError as reason:
            self._reason = str(reason.args[0])
            if place()[1] == 1:
                self._judge(state.global_step)

    def on_optimizer_step(self, args: Any, state: Any, control: Any, **given: Any) -> None:
        """Judge the window that a step has just ended."""
        self._judge(state.global_step)

    def on_step_end(self, args: Any, state: Any, control: Any, **given: Any) -> None:
        """Judge it here under releases of transformers that do not tell of the optimizer's step, such as 4.40."""
        self._judge(state.global_step - 1)

    def _judge(self, step: int) -> None:
        if not self._due:
            return
        attached, self._attached, self._due = self._attached, None, False
        own: tuple[Any, list[Any], str] = (None, [], self._reason)
        if attached is not None:
            attached.finish()
            reason = "" if attached.record.windows else attached.problem or "no gradient came"
            own = (attached.record, attached.objective.hearing.heard, reason)
        # Every rank is here, behind the same step, whatever it has measured.
        ranks = place()[1]
        of_ranks = [own] if ranks == 1 else exchange(own, ranks, SECONDS)
        lacking = [(r, reason) for r, (_, _, reason) in enumerate(of_ranks) if reason]
        if attached is None or lacking:
            r, reason = lacking[0]
            self._tell(step, None, Outcome([], 0, reason=reason if ranks == 1 else f"rank {r} of {ranks}: {reason}"))
            return
        try:
            whole = merge([record for record, _, _ in of_ranks])
        except ValueError as problem:
            self._tell(step, None, Outcome([], 0, reason=str(problem)))
            return
        tokenizer = attached.around.tokenizer
        right, findings, stages = judge_run(whole, attached.objective, tokenizer, [heard for _, heard, _ in of_ranks])
        outcome = Outcome([], 0, right, findings, record=whole, tokenizer=tokenizer, stages=stages)
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
