"""Runs a script or a module as python itself would, and keeps the way in which it ended."""

import io
import os
import sys
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from importlib.util import find_spec
from pathlib import Path
from types import CodeType, ModuleType, TracebackType
from zipfile import is_zipfile

from .find import Stopped
from .streams import flush


@dataclass(frozen=True)
class Ending:
    """How a script ended.

    Attributes:
        status: its exit status.
        error: what it raised, or None.
        stopped: it ended because it was told to.
        at_once: it called os._exit.
    """

    status: int
    error: BaseException | None = None
    stopped: bool = False
    at_once: bool = False


def run_script(words: Sequence[str], as_module: bool) -> Ending:
    """Run `words[0]`, a file or with as_module a module, with the other words as its arguments.

    Its own exit and its own exception are told in the Ending; the traceback is printed as python prints it.
    """
    # Where python would look first: the folder of the script, or the current one for a module.
    whole = not as_module and (Path(words[0]).is_dir() or is_zipfile(words[0]))
    first = os.getcwd() if as_module else os.path.abspath(words[0]) if whole else str(Path(words[0]).resolve().parent)
    if whole:
        # It is told to look there, and not where it would look first.
        sys.path[0] = first
    elif not sys.flags.safe_path:
        sys.path[0] = first
    sys.argv = list(words)
    there = threading.enumerate()
    try:
        try:
            if as_module:
                run_module(words[0])
            elif whole:
                run_folder(first)
            else:
                run_file(words[0])
        finally:
            join_threads(there)
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


def run_file(name: str) -> None:
    """As `python name`, where runpy gives another name to a file, and wants sys.argv back at the end."""
    path = os.path.abspath(name)
    with io.open_code(path) as source:
        code = compile(source.read(), path, "exec", dont_inherit=True)
    execute(code, path, SourceFileLoader("__main__", path), None)


def run_folder(place: str) -> None:
    """As `python place`, a folder or an archive.

    Raises:
        ModuleNotFoundError: there is no __main__ in it.
    """
    run_spec(PathFinder.find_spec("__main__", [place]), "__main__", place)


def run_module(name: str) -> None:
    """As `python -m name`.

    Raises:
        ModuleNotFoundError: there is none, or it is a package without a __main__.
    """
    spec = find_spec(name)
    if spec is not None and spec.submodule_search_locations is not None:
        name = f"{name}.__main__"
        spec = find_spec(name)
    if spec is not None:
        sys.argv[0] = str(spec.origin)
    run_spec(spec, name, f"module {name}")


def run_spec(spec: ModuleSpec | None, name: str, what: str) -> None:
    """Run a module that was looked for.

    Raises:
        ModuleNotFoundError: it was not found, or has no code.
    """
    code = None if spec is None else getattr(spec.loader, "get_code", lambda _: None)(name)
    if spec is None or code is None:
        raise ModuleNotFoundError(f"there is no code to run in {what}", name=name)
    execute(code, str(spec.origin), spec.loader, spec)


def execute(code: CodeType, file: str, loader: object, spec: ModuleSpec | None) -> None:
    """Run code as the main module, which stays, as what the script leaves to the end may look for it."""
    main = ModuleType("__main__")
    main.__dict__.update(
        __annotations__={},
        __file__=file,
        __builtins__=sys.modules["builtins"],
        __cached__=None if spec is None else spec.cached,
        __loader__=loader,
        __package__=None if spec is None else spec.parent,
        __spec__=spec,
    )
    sys.modules["__main__"] = main
    exec(code, main.__dict__)


def join_threads(there: list[threading.Thread]) -> None:
    """Wait for the script's threads, as python does before it ends: they may train; there: those that are not its."""
    while left := [thread for thread in threading.enumerate() if not (thread.daemon or thread in there)]:
        left[0].join()


def status_of(left: SystemExit) -> int:
    """The exit status of a script that left; python prints what is no number."""
    if left.code is None:
        return 0
    if isinstance(left.code, int):
        # What the system keeps of it.
        return left.code & 0xFF
    if sys.stderr is not None:
        print(left.code, file=sys.stderr)
    return 1


def show(error: BaseException) -> None:
    """Print the traceback, without the frames that run the script and look at its models."""
    flush(sys.stdout)
    seen: set[int] = set()
    chain: BaseException | None = error
    while chain is not None and id(chain) not in seen:
        seen.add(id(chain))
        chain.__traceback__ = of_the_script(chain.__traceback__)
        chain = chain.__cause__ or chain.__context__
    sys.excepthook(type(error), error, error.__traceback__)


def of_the_script(trace: TracebackType | None) -> TracebackType | None:
    """The same traceback without frames of this package."""
    if trace is None:
        return None
    below = of_the_script(trace.tb_next)
    file = trace.tb_frame.f_code.co_filename
    if Path(file).parent == Path(__file__).parent:
        return below
    return TracebackType(below, trace.tb_frame, trace.tb_lasti, trace.tb_lineno)
