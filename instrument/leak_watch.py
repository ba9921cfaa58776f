"""Search the batches of a training loop for leaks while it trains."""

from collections.abc import Callable
from types import TracebackType
from typing import Any

import torch
from torch import nn

from .forward import named_arguments
from .leak import find_leaks
from .leak_record import Leaks

Documents = Callable[[dict[str, Any]], Any]


class watch_leaks:
    """While entered, `find_leaks` looks at what the model is called with, before the loop's own forward and backward.

    ::

        with watch_leaks(model) as leaks:
            trainer.train()
        assert not any(leaks)

    Calls with labels and gradients on are looked at; the training itself is bitwise what it would be without.

    Args:
        model: the module that the loop calls with labels.
        documents: from a batch to where its sequences lie, as for `find_leaks`, when the batches do not say.
        batches: how many of the first ones are searched, since each search costs some ten backward passes.
    """

    def __init__(self, model: nn.Module, documents: Documents | None = None, batches: int = 1) -> None:
        self.model, self.documents, self.batches = model, documents, batches
        self.found: list[Leaks] = []
        self._searching = False

    def __enter__(self) -> list[Leaks]:
        self._hook = self.model.register_forward_pre_hook(self._search, with_kwargs=True)
        return self.found

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        self._hook.remove()
        if error is None and not self.found:
            raise ValueError(
                f"{type(self.model).__name__} was never called with labels and gradients on, so no batch was searched: "
                "give the module that the loop calls with labels, or use find_leaks(model, batch, loss=...)"
            )

    def _search(self, module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        batch = named_arguments(module, args, kwargs)
        if self._searching or len(self.found) >= self.batches or not torch.is_grad_enabled():
            return
        if batch.get("labels") is None:
            return
        self._searching = True
        try:
            documents = None if self.documents is None else self.documents(batch)
            self.found.append(find_leaks(module, batch, documents))
        finally:
            self._searching = False
