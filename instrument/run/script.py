"""Runs a script or a module as python itself would, and keeps the way in which it ended."""

import os
import runpy
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType

from .find import Stopped


@dataclass(frozen=True)
class Ending:
    """How a script ended.

    Attributes:
        status: its exit status.
        error: what it raised, or None.
        stopped: it ended because it was told to.
    """

    status: int
    error: BaseException | None = None
    stopped: bool = False


def run_script(words: Sequence[str], as_module: bool) -> Ending:
    """Run `words[0]`, a file or with as_module a module, with the other words as its arguments.

    Its own exit and its own exception are told in the Ending; the traceback is printed as python prints it.
    """
    # Where python would look first: the folder of the script, or the current one for a module.
    first = os.getcwd() if as_module else str(Path(words[0]).resolve().parent)
    if not sys.flags.safe_path:
        sys.path[0] = first
    sys.argv = list(words)
    try:
        if as_module:
            runpy.run_module(words[0], run_name="__main__", alter_sys=True)
        else:
            runpy.run_path(words[0], run_name="__main__")
    except Stopped:
        return Ending(0, stopped=True)
    except SystemExit as left:
        return Ending(status_of(left), left)
    except KeyboardInterrupt as error:
        show(error)
        return Ending(130, error)
    except BaseException as error:
        show(error)
        return Ending(1, error)
    return Ending(0)


def status_of(left: SystemExit) -> int:
    """The exit status of a script that left; python prints what is no number."""
    if left.code is None:
        return 0
    if isinstance(left.code, int):
        return left.code
    print(left.code, file=sys.stderr)
    return 1


def show(error: BaseException) -> None:
    """Print the traceback, without the frames that run the script and look at its models."""
    sys.stdout.flush()
    seen: set[int] = set()
    chain: BaseException | None = error
    while chain is not None and id(chain) not in seen:
        seen.add(id(chain))
        chain.__traceback__ = of_the_script(chain.__traceback__)
        chain = chain.__cause__ or chain.__context__
    sys.excepthook(type(error), error, error.__traceback__)


def of_the_script(trace: TracebackType | None) -> TracebackType | None:
    """The same traceback without frames of this package and of runpy."""
    if trace is None:
        return None
    below = of_the_script(trace.tb_next)
    file = trace.tb_frame.f_code.co_filename
    if Path(file).parent == Path(__file__).parent or file.startswith("<frozen runpy"):
        return below
    return TracebackType(below, trace.tb_frame, trace.tb_lasti, trace.tb_lineno)
