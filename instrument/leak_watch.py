"""Search the batches of a training loop for leaks while it trains."""

from collections import Counter
from collections.abc import Callable
from types import TracebackType
from typing import Any

import torch
from torch import nn

from .capture import Replay
from .forward import named_arguments
from .leak import find_leaks
from .leak_loss import Blind, NothingToSay
from .leak_record import Leaks

Documents = Callable[[dict[str, Any]], Any]


class Searches(list[Leaks]):
    """What was found in each batch that was searched; in words, the batches that had nothing to say too.

    Attributes:
        skipped: how many batches had nothing to say, by reason.
    """

    def __init__(self) -> None:
        self.skipped: Counter[str] = Counter()

    def __str__(self) -> str:
        return "\n".join(
            [str(leaks) for leaks in self] + [f"{n} of the batches: {why}" for why, n in self.skipped.items()]
        )


class watch_leaks:
    """While entered, `find_leaks` looks at what the model is called with, before the loop's own forward and backward.

    ::

        with watch_leaks(model) as leaks:
            trainer.train()
        assert not any(leaks)

    Calls with labels and gradients on are looked at; the training itself is bitwise what it would be without. A batch
    that has nothing to say (no targets, one sequence) is counted, and the next one is searched in its place. Nothing is
    raised inside the loop: what went wrong is raised at the end.

    Args:
        model: the module that the loop calls with labels.
        documents: from a batch to where its sequences lie, as for `find_leaks`, when the batches do not say.
        batches: how many of the first ones are searched, since each search costs some ten backward passes.
        forward: change tokens too, as in `find_leaks`.

    Raises:
        ValueError: at the end: no batch was searched, or one cannot be measured (as `find_leaks`). On entering: entered
            before.
    """

    def __init__(
        self, model: nn.Module, documents: Documents | None = None, batches: int = 1, forward: bool = False
    ) -> None:
        self.model, self.documents, self.left, self.forward = model, documents, batches, forward
        self.found = Searches()
        self._problem: Exception | None = None

    def __enter__(self) -> Searches:
        hooks = self.model._forward_pre_hooks.values()
        if any(isinstance(getattr(hook, "__self__", None), watch_leaks) for hook in hooks):
            raise ValueError(
                f"{type(self.model).__name__} is watched for leaks already: enter watch_leaks once for a model, with "
                "batches= for the number of batches"
            )
        self._hook = self.model.register_forward_pre_hook(self._search, with_kwargs=True)
        return self.found

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        self._hook.remove()
        if error is not None:
            if self._problem is not None:
                error.add_note(f"weighbridge had stopped looking for leaks before this: {self._problem}")
            return
        if self._problem is not None:
            raise self._problem
        if not self.found:
            name = type(self.model).__name__
            raise ValueError(
                f"none of the {self.found.skipped.total()} batches that {name} was trained on had anything to say "
                f"about leaks: {self.found}"
                if self.found.skipped
                else f"{name} was never called with labels and gradients on, so no batch was searched: give the module "
                "that the loop calls with labels, or use find_leaks(model, batch, loss=...)"
            )

    def _search(self, module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        if self._problem is not None or not self.left or Replay.running or not torch.is_grad_enabled():
            return
        try:
            batch = named_arguments(module, args, kwargs)
            if batch.get("labels") is None:
                return
            documents = None if self.documents is None else self.documents(batch)
            self.found.append(find_leaks(module, batch, documents, forward=self.forward))
            self.left -= 1
        except NothingToSay as reason:
            self.found.skipped[str(reason)] += 1
            # Finding out that it is blind takes as many passes as a search.
            self.left -= isinstance(reason, Blind)
        # The user's run must go on as it would have without us.
        except Exception as problem:
            self._problem = problem
