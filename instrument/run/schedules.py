"""How often each learning-rate schedule of torch moves on between two optimizer steps, and where it ends."""

import itertools
import weakref
from collections.abc import Callable, Sequence
from typing import Any

from .finding import NOTE, WARNING, Finding


class Schedules:
    """While installed, knows every schedule that is made, by the optimizer that it moves.

    A schedule that does not call torch's own constructor, as ReduceLROnPlateau, is not known.
    """

    def __init__(self) -> None:
        self._made: weakref.WeakSet[Any] = weakref.WeakSet()
        self._undo: Callable[[], None] = lambda: None
        self._handle: Any = None
        self._places: weakref.WeakKeyDictionary[Any, list[float]] = weakref.WeakKeyDictionary()
        # Those that may run ahead; held, since where they stand when the script ends is what tells.
        self._held: list[tuple[Any, list[float]]] = []

    def install(self) -> None:
        """Look at every schedule; torch has been imported."""
        from torch.optim.lr_scheduler import LRScheduler

        make, made = LRScheduler.__init__, self._made

        def __init__(schedule: Any, *args: Any, **kwargs: Any) -> None:
            made.add(schedule)
            make(schedule, *args, **kwargs)

        # What asks for the signature is to see torch's own.
        __init__.__wrapped__ = make  # type: ignore[attr-defined]
        LRScheduler.__init__ = __init__  # type: ignore[method-assign, assignment]
        self._undo = lambda: setattr(LRScheduler, "__init__", make)

    def uninstall(self) -> None:
        """Leave the class as it was."""
        self._undo()
        self._undo = lambda: None

    def listen(self, optimizers: Sequence[Any]) -> None:
        """Note where the schedules of these optimizers stand, now and before each of their steps from now on."""
        from torch.optim.optimizer import register_optimizer_step_pre_hook

        self._note(optimizers)
        self._handle = register_optimizer_step_pre_hook(lambda stepping, *_: self._note([stepping]))

    def stop(self) -> None:
        """Take the hook off, and hold what may run ahead."""
        if self._handle is not None:
            self._handle.remove()
        for schedule, places in self._places.items():
            moved = moves(places)
            if max(moved, default=0) >= 2:
                self._held.append((schedule, moved))

    def findings(self, micro_batches: Sequence[int], ranks: int, whole: bool) -> list[Finding]:
        """Schedules that move on for each micro-batch.

        Args:
            micro_batches: of each recorded window.
            ranks: data-parallel ranks; what accelerate prepares moves on once for each of them, which is documented.
            whole: the script has run to its own end, so the schedules stand where training left them.
        """
        found: dict[str, Finding] = {}
        for schedule, moved in self._held:
            if not ahead(moved, micro_batches) or moved[-1] == ranks:
                continue
            at, length, m = schedule.last_epoch, length_of(schedule), micro_batches[-1]
            # Nearer to M times its length than to its length.
            over = whole and length is not None and 2 * at > length * (m + 1)
            if whole and length is not None and not over:
                continue
            said = (
                f"{type(schedule).__name__} moves on for each micro-batch, {m} times for one optimizer step, so "
                f"warm-up and decay are over {m} times as early as in one that counts optimizer steps"
            )
            said += f": it ended {at:g} moves on, and is {length:g} long" if over else NOT_KNOWN
            level = WARNING if over else NOTE
            found[said] = Finding("schedule-runs-ahead", level, said, tuple(range(len(micro_batches))))
        return list(found.values())

    def _note(self, optimizers: Sequence[Any]) -> None:
        for schedule in self._made:
            # accelerate's own optimizer stands around torch's.
            moves_on = getattr(schedule.optimizer, "optimizer", schedule.optimizer)
            if any(moves_on is one for one in optimizers):
                self._places.setdefault(schedule, []).append(float(schedule.last_epoch))


NOT_KNOWN = "; right where its length was counted in micro-batches"


def moves(places: Sequence[float]) -> list[float]:
    """How far it moved between two of its places."""
    return [after - before for before, after in itertools.pairwise(places)]


def ahead(moved: Sequence[float], micro_batches: Sequence[int]) -> bool:
    """Whether it moved once for each micro-batch, in all windows.

    In the first it may still miss the last micro-batch's, which can come behind the step.
    """
    if len(moved) < len(micro_batches) or min(micro_batches, default=1) < 2:
        return False
    first, *rest = micro_batches
    return moved[0] in (first, first - 1) and list(moved[1 : len(micro_batches)]) == rest


def length_of(schedule: Any) -> float | None:
    """Moves after which a schedule is over; None where it does not say, or has no end."""
    functions = getattr(schedule, "lr_lambdas", None) or [None]
    given = getattr(functions[0], "keywords", {}).get("num_training_steps")
    own = given if given is not None else getattr(schedule, "T_max", None)
    return float(own) if isinstance(own, (int, float)) else None
