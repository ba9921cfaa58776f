"""os._exit ends a process without anything that stands behind the script: what is to be told is told before it."""

import os
from collections.abc import Callable
from typing import Any


class AtOnce:
    """While entered, os._exit of this process calls `tell` first.

    Args:
        tell: takes the status of the script, and gives the one to end with.
    """

    def __init__(self, tell: Callable[[int], int]) -> None:
        self._tell = tell
        self._leave: Any = None

    def __enter__(self) -> "AtOnce":
        leave = self._leave = os._exit
        tell, process = self._tell, os.getpid()

        def _exit(status: int) -> Any:
            # A process that the script forked leaves this way too, and has nothing to tell.
            leave(tell(status) if os.getpid() == process else status)

        os._exit = _exit  # type: ignore[assignment]
        return self

    def __exit__(self, *_: object) -> None:
        os._exit = self._leave
