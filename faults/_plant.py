"""Switches a fault on and off.

The code of the function itself is swapped, not a name that points to it: whoever imported, wrapped or stored the
function before runs the broken code too.
"""

import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from types import CodeType, FunctionType
from typing import Any

from ._fault import Call, Fault
from ._seam import find


@dataclass
class Hits:
    """How often a seam was called while its fault was on."""

    count: int = 0


# What is planted in this process, for whoever hands work to one that had started before.
ON: list[tuple[Fault, Hits]] = []


@contextmanager
def planted(fault: Fault) -> Iterator[Hits]:
    """Run the block with the fault on; nested blocks, also on one seam, are undone last in, first out.

    Yields:
        The calls of the seam so far.

    Raises:
        LookupError: what is installed has no such seam.
    """
    hits = Hits()

    def reached() -> None:
        hits.count += 1

    with swapped(fault.seam, fault.library, fault.patch, reached):
        ON.append((fault, hits))
        try:
            yield hits
        finally:
            ON.remove((fault, hits))


@contextmanager
def counted(seams: Iterable[str]) -> Iterator[Mapping[str, int]]:
    """Run the block with every seam counted and nothing changed.

    Args:
        seams: each "module:qualified name".

    Yields:
        The calls so far, by seam; 0 where it was not reached.

    Raises:
        LookupError: what is installed has no such seam.
    """
    counts = dict.fromkeys(seams, 0)

    def counter(seam: str) -> Callable[[], None]:
        def reached() -> None:
            counts[seam] += 1

        return reached

    with ExitStack() as stack:
        for seam in counts:
            stack.enter_context(swapped(seam, seam.split(".")[0], lambda original: original, counter(seam)))
        yield counts


@contextmanager
def swapped(seam: str, library: str, patch: Callable[[Call], Call], reached: Callable[[], None]) -> Iterator[None]:
    """Run the block with a patch on a seam; `reached` is called at each call of the seam.

    Raises:
        LookupError: what is installed has no such seam.
    """
    function = find(seam, library)
    kept, original = function.__code__, _copy(function)
    broken = patch(original)

    def call(*args: Any, **kwargs: Any) -> Any:
        reached()
        return broken(*args, **kwargs)

    function.__code__ = _calling(call, original, seam)
    try:
        yield
    finally:
        function.__code__ = kept


def _copy(function: FunctionType) -> FunctionType:
    copy = FunctionType(
        function.__code__, function.__globals__, function.__name__, function.__defaults__, function.__closure__
    )
    copy.__kwdefaults__ = function.__kwdefaults__
    copy.__qualname__ = function.__qualname__
    return copy


def _calling(call: Call, original: FunctionType, seam: str) -> CodeType:
    """Code with the original's own parameters that hands them all to `call`.

    The parameters are written out, not caught with a star, so that inspect.signature and a wrong call answer as before.
    """
    parameters = list(inspect.signature(original).parameters.values())
    handed: dict[object, str] = {
        inspect.Parameter.VAR_POSITIONAL: "*{0}",
        inspect.Parameter.KEYWORD_ONLY: "{0}={0}",
        inspect.Parameter.VAR_KEYWORD: "**{0}",
    }
    arguments = ", ".join(handed.get(p.kind, "{0}").format(p.name) for p in parameters)
    bare = [p.replace(default=inspect.Parameter.empty, annotation=inspect.Parameter.empty) for p in parameters]
    # The function keeps its closure, with the cell of super(), and takes no code that expects another number of cells.
    free = ", ".join(original.__code__.co_freevars)
    source = (
        f"def enclosing({free}):\n"
        f"  def seam{inspect.Signature(bare)}:\n"
        f"    {f'nonlocal {free}' if free else 'pass'}\n"
        f"    __call__ = 'the call'\n"
        f"    return __call__({arguments})\n"
    )
    # A name that no file has: a traceback must not show lines of the library that did not run.
    code = compile(source, f"<fault at {seam}>", "exec", dont_inherit=True)
    for _ in ("enclosing", "seam"):
        code = next(constant for constant in code.co_consts if isinstance(constant, CodeType))
    return code.replace(
        co_name=original.__code__.co_name,
        co_qualname=original.__code__.co_qualname,
        co_consts=tuple(call if constant == "the call" else constant for constant in code.co_consts),
    )
