"""Attaches the live instrument to a model that was found, where it can read what this run computes in."""

import warnings
from typing import Any

import torch

from ..after import AfterBackward
from ..label_record import LabelRecorder, scores_labels_in_place
from ..live_record import LiveRecorder
from ..locate import locate
from ..record import Record
from ..step_verdict import compared
from .certificate import Witness
from .clips import HeardClip
from .defaults import Change, changes
from .half import HalfRecorder
from .leaks import LeakSearch
from .rewards import RewardRecorder
from .schedules import Schedules
from .student import TaughtRecorder
from .surroundings import Surroundings, surroundings
from .taught import Teacher
from .trained import REWARDS, Objective, objective_of


class Attached:
    """A recorder on one model, and what stands around it.

    Attributes:
        record: what it measured; after `finish` of whole windows only.
        problem: why it stopped measuring; empty when it did not.
        unfollowed: why nothing behind backward is measured; empty where it is, or where nothing was to be.
        cut: forwards of a window that no optimizer step ended were thrown away.
        around: the trainer and the tokenizer.
        objective: what the trainer says that it minimises.
        changes: what the run sets differently from the defaults.
        schedules: of its optimizers.
        witness: stands around each call of the instrument.
        leaks: the search for leaks, or None.
    """

    def __init__(
        self,
        module: Any,
        recorder: Any,
        around: Surroundings,
        objective: Objective,
        optimizers: list[Any],
        leaks: bool = False,
        schedules: Schedules | None = None,
    ) -> None:
        self._recorder = recorder
        self.schedules = schedules or Schedules()
        self.witness = recorder.capture.witness = Witness(module)
        self.changes: dict[str, Change] = changes(around.trainer, optimizers)
        self.record: Record = recorder.record
        self.around = around
        self.objective = objective
        self.problem = self.unfollowed = ""
        self._clip: HeardClip | None = None
        self.cut = False
        held = [p for one in optimizers for group in one.param_groups for p in group["params"]]
        # Sums are made of gradients at final hidden states, which half precision and labels do not give. Of the rest,
        # only float16 needs what follows backward, to see its loss scale undone: a clip hides a factor of the loss as
        # well. Norms of gradients that are held in half precision themselves err by more than is allowed for.
        scaled = isinstance(recorder, HalfRecorder) and recorder.half == "float16"
        scaled &= all(p.dtype in (torch.float32, torch.float64) for p in held if p.requires_grad)
        if isinstance(recorder, LiveRecorder) or scaled:
            limit = getattr(getattr(around.trainer, "args", None), "max_grad_norm", None) or None
            head = recorder.head if isinstance(recorder, LiveRecorder) else None
            try:
                after = AfterBackward(self.record, module, optimizers, compared, limit, head)
                recorder.capture.after, self._clip = after, HeardClip(after.clips)
            except NotImplementedError as refused:
                self.unfollowed = str(refused)
        self.leaks = LeakSearch(module, self.witness) if leaks else None
        self._recorder.capture.__enter__()
        self.objective.hearing.listen(module)
        if self._clip is not None:
            self._clip.listen()
        self.schedules.listen(optimizers)

    def finish(self) -> None:
        """Take all hooks off; a window that is not whole is thrown away."""
        self.objective.hearing.stop()
        self.schedules.stop()
        if self._clip is not None:
            self._clip.stop()
        if self.leaks is not None:
            self.leaks.stop()
        try:
            self._recorder.capture.__exit__(None, None, None)
        except Exception as problem:  # of whatever kind: the run goes on, and the report tells
            self.problem = str(problem)
        self.witness.leave()
        windows = self.record.windows
        if windows and not windows[-1].stepped:
            self.cut = True
            windows.pop()


def attach(
    module: Any,
    kwargs: dict[str, Any],
    optimizers: list[Any],
    leaks: bool = False,
    schedules: Schedules | None = None,
) -> Attached:
    """Start to record the first model in a module, itself included, that can be read.

    Args:
        kwargs: with which the module is about to be called.
        optimizers: that hold its parameters.
        leaks: search a batch for leaks too.
        schedules: that were made so far; None where nobody looked.

    Raises:
        LookupError: there is none, and why not.
    """
    around = surroundings()
    half, objective = around.half or half_of(module), objective_of(around)
    reason = ""
    for inner in module.modules():
        if any(p.requires_grad for p in inner.parameters()):
            try:
                # A model warns of its own outdated names when it is asked for its parts.
                with warnings.catch_warnings(action="ignore"):
                    recorder = recorder_of(inner, objective, half, kwargs.get("fused_lm_head") is True)
                    return Attached(inner, recorder, around, objective, optimizers, leaks, schedules)
            except (ValueError, LookupError, NotImplementedError) as refused:
                reason = reason or str(refused.args[0])
    raise LookupError(reason)


def recorder_of(
    model: Any, objective: Objective, half: str, fused: bool
) -> LabelRecorder | LiveRecorder | HalfRecorder | RewardRecorder:
    """Where to read: at the logits of a head that scores in place, at the final hidden states, or behind the head.

    In half precision the final hidden states do not tell a weight to a tenth; behind the head they do.
    """
    if objective.kind == REWARDS:
        return RewardRecorder(model)
    if isinstance(objective.hearing, Teacher):
        if half:
            raise NotImplementedError(
                f"{type(model).__name__} runs in {half}, in which no token of a student can be told to a tenth: train "
                "a step in float32 to be told"
            )
        objective.hearing.find()
        return TaughtRecorder(locate(model), objective.hearing)
    if scores_labels_in_place(model):
        return LabelRecorder(model)
    found = locate(model)
    return HalfRecorder(found, half, fused) if half else LiveRecorder(found)


def half_of(module: Any) -> str:
    """dtype of a model that is held in half precision, or runs in it by autocast or FSDP; empty for any other."""
    half = (torch.bfloat16, torch.float16)
    floating = [p for p in module.parameters() if p.is_floating_point()]
    kind = floating[0].device.type
    found = torch.get_autocast_dtype(kind) if torch.is_autocast_enabled(kind) else floating[-1].dtype
    found = found if found in half else gathered_in(module)
    return str(found).removeprefix("torch.") if found in half else ""


def gathered_in(module: Any) -> Any:
    """dtype that FSDP casts gathered parameters to, by the outermost of what it wraps; None where it does not."""
    for part in module.modules():
        # What fully_shard leaves on a module, and what FSDP1 is.
        state = part._get_fsdp_state() if hasattr(part, "_get_fsdp_state") else None
        policy = getattr(part, "mixed_precision", None) if state is None else state._mp_policy
        if policy is not None and hasattr(policy, "param_dtype"):
            return policy.param_dtype
    return None
