"""Hooks on one model: its forwards, the gradient that arrives at one read point, the end of each optimizer step.

The capture only notes and hands over; what is made of a gradient is decided by the two callbacks it is given. It
changes nothing in the run: hooks return nothing, but for a closure of `optimizer.step` one that calls it; and an error
inside a hook is kept and raised when the capture ends.
"""

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from math import isfinite
from types import TracebackType
from typing import Any

import torch
from torch import Tensor, nn
from torch.optim.optimizer import register_optimizer_step_post_hook, register_optimizer_step_pre_hook

from . import refusals
from .captured import Arrival, CapturedWindow
from .forward import Forward, describe, hidden_states, named_arguments, token_ids, without_graph
from .norms import is_not_zero, norms, own_part
from .skipped import Unfinished, leaves_out
from .step_closure import StepClosure, in_its_place, own_closure


class Replay:
    """While entered, no capture takes notice: the instrument itself runs a model, which another one may be watching."""

    running = 0

    def __enter__(self) -> None:
        Replay.running += 1

    def __exit__(self, *_: object) -> None:
        Replay.running -= 1


class Capture:
    """Watch one model while somebody else's code trains it.

    Args:
        model: receives input_ids and, as a rule, labels.
        read_point: the module at whose output the gradient is read.
        where: name of the read point, for messages.
        take: take(forward, output, gradient) is called when a gradient arrives; its result is kept.
        close: close(window) is called right before the optimizer step that ends the window, and once at the end for
            what no step followed. The parameters are still those of the window's forwards. The window and all that
            `take` returned for it are let go afterwards.
        find: from what the read point returned to the tensor at which the gradient is read.
        describe: describe(arguments, tensor, number, where) notes what a forward was about.

    `after`, when set before it is entered, is told of what it sees too: see after.AfterBackward. `witness`, when set,
    makes each call that comes out of a hook: see run.certificate.Witness. `leave_out`, when set, is told of the
    forwards of a window that is thrown away, and before which window that was.
    """

    def __init__(
        self,
        model: nn.Module,
        read_point: nn.Module,
        where: str,
        take: Callable[[Forward, Any, Tensor], Any],
        close: Callable[[CapturedWindow], None],
        find: Callable[[Any], Tensor] = hidden_states,
        describe: Callable[[dict[str, Any], Tensor, int, str], Forward] = describe,
    ) -> None:
        refusals.refuse_frozen(model, where)
        self.windows = 0
        self.forwards = 0
        self.backwards = 0
        self._model, self._read_point, self._where = model, read_point, where
        self._take, self._close = take, close
        self._find, self._describe = find, describe
        self._open = CapturedWindow()
        self._batch: dict[str, Any] = {}
        self._backward_open = False
        self._version = 0
        self._unfinished = Unfinished()
        self.notes = self._unfinished.told
        self._tables = [module._parameters for module in model.modules()]
        self._parameters = held_in(self._tables)
        self._problem: Exception | None = None
        self._hooks: list[Any] = []
        self.after: Any = None
        self.witness: Callable[..., None] | None = None
        self.leave_out: Callable[[int, list[Forward]], None] | None = None

    def __enter__(self) -> "Capture":
        self._hooks = [
            self._model.register_forward_pre_hook(self._note_batch, with_kwargs=True),
            self._model.register_forward_hook(self._forget_batch, always_call=True),
            self._read_point.register_forward_hook(self._note_forward, with_kwargs=True),
            register_optimizer_step_pre_hook(self._note_step),
            register_optimizer_step_post_hook(self._note_stepped),
        ]
        if self.after is not None:
            self.after.attach(self._guarded)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        for hook in self._hooks:
            hook.remove()
        self._hooks.clear()
        if self._unfinished.spoilt() and (self.windows or not self._unfinished.met):
            self._give_up()
        elif self._unfinished.met:
            self._guarded(self._unfinished.refuse)
        elif self._open.arrivals:
            self._end_window(stepped=False)
        if self.after is not None:
            self.after.detach()
        if error is not None and self._problem is not None:
            error.add_note(f"weighbridge had stopped measuring before this: {self._problem}")
        if error is not None:
            return
        if self._problem is not None:
            raise self._problem
        refusals.refuse_nothing(self.forwards, self.windows, len(self.notes), self._where)

    def _guarded(self, act: Callable[..., None], *args: Any) -> None:
        if Replay.running or self._problem is not None:
            return
        try:
            act(*args)
        # The user's run must go on as it would have without us; the end of the capture raises it.
        except Exception as problem:
            self._problem = problem

    def _called(self, act: Callable[..., None], *args: Any) -> None:
        if self.witness is None or Replay.running:
            self._guarded(act, *args)
        else:
            self._guarded(self.witness, self._guarded, act, *args)

    def _note_batch(self, module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        self._guarded(self._hold_batch, module, args, kwargs)

    def _hold_batch(self, module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        named = named_arguments(module, args, kwargs)
        # Some trainers run their whole loss through the model's wrapper, and hand the model over: that is no batch.
        self._batch = {} if isinstance(named.get("input_ids"), nn.Module) else named

    def _forget_batch(self, *_: Any) -> None:
        if not Replay.running:
            self._batch = {}

    def _note_forward(self, module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any], output: Any) -> None:
        if torch.is_grad_enabled():
            self._called(self._arm, module, args, kwargs, output)

    def _arm(self, module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any], output: Any) -> None:
        own = {} if "input_ids" in self._batch else named_arguments(module, args, kwargs)
        batch = {**own, **self._batch}
        if self.forwards and token_ids(batch) is None and inside_backward():
            # Checkpointing of a block around the read point runs it again in backward; the first run was noted.
            return
        if self._unfinished.emptied(self._held):
            self._give_up()
        hidden = self._find(output)
        forward = self._describe(batch, hidden, self.forwards, self._where)
        if not self._open.arrivals:
            # Once per window: a walk over the modules costs more than all else that is done here.
            self._tables = [module._parameters for module in self._model.modules()]
            self._parameters = held_in(self._tables)
            refusals.refuse_taken_over(self._model, self._parameters)
        version = sum(p._version for p in self._parameters)
        if self._open.arrivals and version != self._version:
            refusals.refuse_unseen_change()
        self._version = version
        self.forwards += 1
        if self.after is not None:
            self.after.ran(output)
        if not hidden.requires_grad:
            # Everything below is frozen. A leaf that asks for its gradient changes no parameter's gradient.
            hidden.requires_grad_(True)
        # The hook holds the output without its graph: held with it, the graph would hold itself and never be freed.
        kept = without_graph(output, hidden)
        hidden.register_hook(lambda gradient: self._called(self._arrive, forward, kept, gradient))

    def _arrive(self, forward: Forward, output: Any, gradient: Tensor) -> None:
        if not self._backward_open:
            if self._unfinished.emptied(self._held):
                self._give_up()
            self._backward_open = True
            queue = torch.autograd.Variable._execution_engine.queue_callback
            # Twice, since what averages over the ranks may queue its own end later than this.
            queue(lambda: queue(self._end_backward))
        # A finite sum has finite terms only, and is found eight times sooner than all of them are looked at.
        if not isfinite(gradient.sum().item()) and not bool(gradient.isfinite().all()):
            # A loss scaler may yet throw it away; a step on it is an error.
            self._unfinished.meet(forward.index, self._where)
            self._open.lost.append(forward)
            return
        with torch.no_grad():
            reading = self._take(forward, output, gradient.detach())
            if self.after is not None:
                self.after.arrived(output, gradient.detach(), reading)
        self._open.arrivals.append(Arrival(forward, self.backwards, reading))

    def _end_backward(self) -> None:
        self._backward_open = False
        self.backwards += 1
        self._called(self._note_backward)

    def _note_backward(self) -> None:
        self._unfinished.note(norms(self._held()) if self.after is None else self.after.ended())

    def _held(self) -> list[nn.Parameter]:
        return [p for p in self._parameters if p.requires_grad]

    def _give_up(self) -> None:
        window, self._open = self._open, CapturedWindow()
        if self.leave_out is not None:
            self.leave_out(self.windows, [*(arrival.forward for arrival in window.arrivals), *window.lost])
        self._unfinished.throw_away(self.windows)
        if self.after is not None:
            self.after.drop()

    def _note_step(self, optimizer: torch.optim.Optimizer, args: Any, kwargs: Any) -> Any:
        closure = own_closure(args, kwargs)
        if closure is None:
            self._note_complete(optimizer)
            return None
        noted = StepClosure(closure, partial(self._note_complete, optimizer), partial(self._note_again, optimizer))
        return in_its_place(args, kwargs, noted)

    def _note_complete(self, optimizer: torch.optim.Optimizer) -> None:
        if self._open.arrivals and not Replay.running:
            # Under FSDP other tensors stand in their place while the model runs, which no optimizer knows.
            self._parameters = held_in(self._tables)
        if self._trained_by(optimizer):
            self._called(self._step, optimizer)

    def _note_again(self, optimizer: torch.optim.Optimizer) -> None:
        if self._trained_by(optimizer):
            self._guarded(refusals.refuse_again, type(optimizer).__name__)

    def _trained_by(self, optimizer: torch.optim.Optimizer) -> bool:
        ours = {id(p) for p in self._parameters}
        return any(id(p) in ours for group in optimizer.param_groups for p in group["params"])

    def _step(self, optimizer: torch.optim.Optimizer) -> None:
        if inside_backward():
            refusals.refuse_early()
        if self.after is not None:
            self.after.stepping(optimizer)
        if leaves_out(optimizer):
            self._give_up()
        self._unfinished.refuse()
        if self._open.arrivals:
            self._end_window(stepped=True)

    def _note_stepped(self, optimizer: torch.optim.Optimizer, args: Any, kwargs: Any) -> None:
        closure = own_closure(args, kwargs)
        if isinstance(closure, StepClosure) and not closure.calls and self._trained_by(optimizer):
            self._guarded(refusals.refuse_uncalled, type(optimizer).__name__)
        if self.after is not None:
            self._called(self.after.stepped, optimizer)

    def _end_window(self, stepped: bool) -> None:
        if self._backward_open:
            # It raised before its end, and the user's code went on.
            self._end_backward()
        window, self._open = self._open, CapturedWindow()
        trainable = self._held()
        self._unfinished.end()
        window.stepped, window.trainable = stepped, len(trainable)
        window.reached = sum(p.grad is not None for p in trainable)
        if not any(p.grad is not None and bool(is_not_zero(own_part(p.grad))) for p in trainable):
            # Gradients of nothing but zeros train nothing, as after a zero_grad in the wrong place.
            window.reached = 0
        self.windows += 1
        self._guarded(self._finish, window)

    def _finish(self, window: CapturedWindow) -> None:
        with torch.no_grad():
            self._close(window)
            if self.after is not None:
                self.after.close()


def held_in(tables: Iterable[Mapping[str, nn.Parameter | None]]) -> list[nn.Parameter]:
    """The parameters that modules hold now, each once."""
    return list({id(p): p for table in tables for p in table.values() if p is not None}.values())


def inside_backward() -> bool:
    """Whether autograd is running a backward in this thread."""
    return torch._C._current_graph_task_id() != -1
