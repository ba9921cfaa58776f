"""Something in the place of a part of TRL that cannot run here, while a trainer is built."""

import importlib
from importlib.metadata import version
from typing import Any


class StandIn:
    """While entered, a module of TRL has another object under a name.

    Raises:
        LookupError: the installed release has no such name there.
    """

    def __init__(self, module: str, name: str, other: Any) -> None:
        self.module, self.name, self.other = importlib.import_module(module), name, other
        if not hasattr(self.module, name):
            raise LookupError(f"trl {version('trl')}: {module} has no {name}, in whose place something could stand")

    def __enter__(self) -> None:
        self.original = getattr(self.module, self.name)
        setattr(self.module, self.name, self.other)

    def __exit__(self, *_: object) -> None:
        setattr(self.module, self.name, self.original)
