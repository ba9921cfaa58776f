"""Acts when a module has been imported, and imports nothing itself.

A script may set what torch reads at its import (the number of threads, for one), so torch must not be imported for it.
"""

import sys
from collections.abc import Callable
from importlib.machinery import ModuleSpec
from typing import Any


class WhenImported:
    """While entered, calls `act` once: now if the module is there already, else when it has been executed."""

    def __init__(self, name: str, act: Callable[[], None]) -> None:
        self.name, self.act = name, act

    def __enter__(self) -> "WhenImported":
        if self.name in sys.modules:
            self.act()
        else:
            sys.meta_path.insert(0, self)
        return self

    def __exit__(self, *_: object) -> None:
        if self in sys.meta_path:
            sys.meta_path.remove(self)

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        """Leave the search to the others, and act behind what they find."""
        if name != self.name:
            return None
        found = (finder.find_spec(name, path, target) for finder in sys.meta_path if finder is not self)
        spec = next(filter(None, found), None)
        if spec is None or spec.loader is None:
            return spec
        execute = spec.loader.exec_module

        def execute_and_act(module: Any) -> None:
            execute(module)
            if self in sys.meta_path:
                sys.meta_path.remove(self)
                self.act()

        spec.loader.exec_module = execute_and_act  # type: ignore[method-assign]
        return spec
