"""Finds the model that trains, has it watched for some windows, and lets it go.

Every call of a module from outside of all others is looked at, before the module runs. The one that is measured has
gradients on and parameters that an optimizer holds: reference models, teachers and reward models have neither.
"""

import threading
import weakref
from collections.abc import Callable
from typing import Any, Protocol


class Stopped(BaseException):
    """Ends a script after its last recorded window; no Exception, so that a script that catches those ends too."""


class Recorder(Protocol):
    """What is attached to a model."""

    def finish(self) -> None:
        """Take all hooks off."""


class Finder:
    """Watches for the model from the import of torch on.

    Args:
        windows: how many to record.
        stop: end the script after them.
        attach: attach(module, arguments, optimizers) starts to record a module that they hold, or
            says with LookupError why it cannot be measured.

    Attributes:
        recorder: what attach gave, or None as long as no model was found.
        model: class of the measured model, by name.
        steps: optimizer steps on its parameters while it was recorded.
        also: classes of other models that an optimizer trains.
        refused: class of each trained module that could not be measured, and why.
        ran: classes of modules that ran with gradients on and that no optimizer holds.
        astray: of those, by class, the names of the trainable parameters where an optimizer holds frozen ones only.
        moved: an optimizer took a step.
        imported: torch was imported.
        made: an optimizer was made.
        late: the model ran before its optimizer was there, so its first step was not measured.
        stopped: the script was told to end.
    """

    def __init__(self, windows: int, stop: bool, attach: Callable[[Any, dict[str, Any], list[Any]], Recorder]) -> None:
        self._windows, self._stop, self._attach = windows, stop, attach
        self.recorder: Recorder | None = None
        self.model = ""
        self.steps = 0
        self.also: list[str] = []
        self.refused: dict[str, str] = {}
        self.ran: list[str] = []
        self.astray: dict[str, list[str]] = {}
        self.moved = False
        self.imported = self.made = self.late = self.stopped = self.done = False
        self.optimizers: weakref.WeakSet[Any] = weakref.WeakSet()
        self._closed = False
        self._chosen: Any = None
        self._parts: set[int] = set()
        self._early: set[int] = set()
        self._looked_at: dict[int, int] = {}
        self._undo: list[Callable[[], None]] = []
        self._inside = threading.local()
        self._handle: Any = None
        self.listen: Callable[[], Any] = lambda: None

    def install(self) -> None:
        """Look at every call of a module and every optimizer; torch has been imported."""
        from torch import nn
        from torch.optim.optimizer import Optimizer, register_optimizer_step_post_hook

        self.imported = True
        call, make = nn.Module.__call__, Optimizer.__init__
        inside, finder = self._inside, self

        def __call__(module: Any, *args: Any, **kwargs: Any) -> Any:
            if getattr(inside, "one", False):
                return call(module, *args, **kwargs)
            inside.one = True
            try:
                finder.before(module, kwargs)
                return call(module, *args, **kwargs)
            finally:
                inside.one = False

        def __init__(optimizer: Any, *args: Any, **kwargs: Any) -> None:
            finder.optimizers.add(optimizer)
            finder.made = True
            make(optimizer, *args, **kwargs)

        nn.Module.__call__ = __call__  # type: ignore[method-assign]
        Optimizer.__init__ = __init__  # type: ignore[assignment,method-assign]
        self.listen = lambda: register_optimizer_step_post_hook(self.stepped)
        self._handle = self.listen()
        self._undo = [
            lambda: setattr(nn.Module, "__call__", call),
            lambda: setattr(Optimizer, "__init__", make),
            lambda: self._handle.remove(),
        ]

    def uninstall(self) -> None:
        """Leave torch as it was."""
        while self._undo:
            self._undo.pop()()
        self._chosen = None

    def before(self, module: Any, kwargs: dict[str, Any]) -> None:
        """Look at a module that is about to run, with arguments by name."""
        import torch

        if self.done:
            # Not in the hook of the step, since torch is then going through a list of hooks that this changes.
            self.close()
            self.uninstall()
        elif torch.is_grad_enabled() and id(module) not in self._parts and not inside_backward():
            self.look_at(module, kwargs)

    def look_at(self, module: Any, kwargs: dict[str, Any]) -> None:
        """Choose the module, or note why not."""
        name = type(module).__name__
        if self._looked_at.get(id(module)) == len(self.optimizers) or not any(
            p.requires_grad for p in module.parameters()
        ):
            return
        self._looked_at[id(module)] = len(self.optimizers)
        if not any(holds(optimizer, module) for optimizer in self.optimizers):
            self._early.add(id(module))
            self.ran = list(dict.fromkeys([*self.ran, name]))
            if any(holds(optimizer, module, trainable=False) for optimizer in self.optimizers):
                self.astray[name] = [part for part, p in module.named_parameters() if p.requires_grad]
        elif id(module) in self._early:
            self.late = True
            # Looked at again when a step has ended the window of which a forward was missed.
            del self._looked_at[id(module)]
        elif self.recorder is not None:
            self.also = list(dict.fromkeys([*self.also, name]))
        else:
            try:
                self.recorder = self._attach(module, kwargs, [o for o in self.optimizers if holds(o, module)])
            except LookupError as reason:
                self.refused[name] = str(reason.args[0])
            # Whatever else goes wrong here is ours: the script, in whose call this runs, goes on as it would alone.
            except Exception as problem:
                self.refused[name] = f"looking at it ended in {type(problem).__name__}: {problem}"
            else:
                self._chosen, self.model = module, name
                self._parts = {id(part) for part in module.modules()}
                # Behind the hooks of the recorder, which are to see the step that Stopped is raised in.
                self._handle.remove()
                self._handle = self.listen()

    def stepped(self, optimizer: Any, args: Any, kwargs: Any) -> None:
        """Count the steps of the model, and end the recording."""
        if self.done:
            return
        self.optimizers.add(optimizer)
        self.moved = True
        self._early.clear()
        if self._chosen is None or not holds(optimizer, self._chosen):
            return
        self.steps += 1
        if self.steps < self._windows:
            return
        self.done = True
        if self._stop:
            self.stopped = True
            raise Stopped

    def close(self) -> None:
        """End the recording, if there is one and it has not ended."""
        if self.recorder is not None and not self._closed:
            self.recorder.finish()
        self.done = self._closed = True


def inside_backward() -> bool:
    """Whether autograd runs a backward in this thread, as where checkpointing runs parts of a model again."""
    import torch

    return bool(torch._C._current_graph_task_id() != -1)


def holds(optimizer: Any, module: Any, trainable: bool = True) -> bool:
    """Whether an optimizer holds a trainable parameter of a module, or a frozen one."""
    held = {id(p) for group in getattr(optimizer, "param_groups", []) for p in group["params"]}
    return any(id(p) in held for p in module.parameters() if p.requires_grad == trainable)
