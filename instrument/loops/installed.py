"""The installed TRL while a loop builds and drives a trainer of it: what it lacks is named with its version."""

import re
import traceback
import warnings
from importlib.metadata import version
from pathlib import Path
from types import FrameType, TracebackType

HERE = Path(__file__).parent
# What Python says of a call whose arguments do not fit, before anything of what was called has run.
OTHER_ARGUMENTS = re.compile(r"(.*\.__init__)\(\) (got an unexpected|got multiple|missing|takes) ")
WAY_OUT = "this release is fed or read through another seam than this loop uses"


class OldNames(warnings.catch_warnings):  # type: ignore[type-arg]
    """While entered, transformers does not warn that TRL and PEFT ask for gradient checkpointing by its old name."""

    def __enter__(self) -> None:
        super().__enter__()
        warnings.filterwarnings("ignore", message=".*gradient_checkpointing", category=FutureWarning)


class Installed(OldNames):
    """As ``OldNames``, around all that a loop asks of TRL.

    Raises:
        LookupError: a loop asks something of TRL for a name that it does not have.
        TypeError: a loop builds something of TRL from other arguments than it takes.
    """

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        super().__exit__(kind, error, trace)
        if error is None:
            return
        *_, (frame, _) = traceback.walk_tb(trace)
        # What went wrong inside of TRL has its own traceback, and is no seam of a loop.
        if Path(frame.f_code.co_filename).parent != HERE:
            return
        if isinstance(error, AttributeError) and (owner := of_trl(error.obj)):
            raise LookupError(f"trl {version('trl')}: {owner} has no {error.name}: {WAY_OUT}") from error
        if isinstance(error, TypeError) and built_from(frame, str(error)):
            raise TypeError(f"trl {version('trl')}: {error}: {WAY_OUT}") from error


def of_trl(held: object) -> str:
    """Name of the class of TRL that something is of, or is; empty where it is of none."""
    kind = held if isinstance(held, type) else type(held)
    return next((each.__name__ for each in kind.__mro__ if each.__module__.startswith("trl.")), "")


def built_from(frame: FrameType, said: str) -> bool:
    """Whether an error says that arguments do not fit the constructor of a class of TRL which the frame knows."""
    refused = OTHER_ARGUMENTS.match(said)
    held = [*frame.f_locals.values(), *frame.f_globals.values()]
    return refused is not None and any(
        isinstance(each, type) and of_trl(each) and each.__init__.__qualname__ == refused[1]  # type: ignore[misc]
        for each in held
    )
