"""The standard error as it was when the command began: a script may close its streams, or put others in their place."""

import os
import sys
from typing import Any


class Aside:
    """Where the report goes."""

    def __init__(self) -> None:
        self._first: Any = sys.stderr
        self._copy: int | None = None
        try:
            # A script that closes its stream closes the descriptor with it.
            self._copy = os.dup(self._first.fileno())
        except (AttributeError, OSError, ValueError):
            pass

    def stream(self) -> Any:
        """The stream itself, or one to the same place; what was said before it is through."""
        for each in (sys.stdout, sys.stderr, self._first):
            flush(each)
        if self._first is not None and not self._first.closed:
            return self._first
        try:
            return open(os.devnull if self._copy is None else self._copy, "w")
        except OSError:
            # It closed every descriptor that there was.
            return open(os.devnull, "w")


def flush(stream: Any) -> None:
    """Write out what a stream holds, where it can be written."""
    try:
        stream.flush()
    except (AttributeError, OSError, ValueError):
        # Python itself says at its end what could not be written.
        pass
