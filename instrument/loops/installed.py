"""The installed TRL while a loop builds and drives a trainer of it: what it lacks is named with its version."""

import re
import traceback
import warnings
from importlib.metadata import version
from pathlib import Path
from types import TracebackType

HERE = Path(__file__).parent
# What Python says of a call whose arguments do not fit, before anything of what was called has run.
OTHER_ARGUMENTS = re.compile(r".*__init__\(\) (got an unexpected|got multiple|missing|takes) ")


class Installed(warnings.catch_warnings):  # type: ignore[type-arg]
    """While entered, transformers does not warn that TRL and PEFT ask for gradient checkpointing by its old name.

    Raises:
        LookupError: a loop asks something of TRL for a name that it does not have.
        TypeError: a loop builds something of TRL from other arguments than it takes.
    """

    def __enter__(self) -> None:
        super().__enter__()
        warnings.filterwarnings("ignore", message=".*gradient_checkpointing", category=FutureWarning)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        super().__exit__(kind, error, trace)
        # What went wrong inside of TRL has its own traceback, and is no seam of a loop.
        if error is None or Path(traceback.extract_tb(trace)[-1].filename).parent != HERE:
            return
        if isinstance(error, AttributeError) and (owner := of_trl(error.obj)):
            raise LookupError(f"trl {version('trl')}: {owner} has no {error.name}: {WAY_OUT}") from error
        if isinstance(error, TypeError) and OTHER_ARGUMENTS.match(str(error)):
            raise TypeError(f"trl {version('trl')}: {error}: {WAY_OUT}") from error


WAY_OUT = "this release is fed or read through another seam than this loop uses"


def of_trl(held: object) -> str:
    """Name of the class of TRL that something is of, or is; empty where it is of none."""
    kind = held if isinstance(held, type) else type(held)
    return next((each.__name__ for each in kind.__mro__ if each.__module__.startswith("trl.")), "")
