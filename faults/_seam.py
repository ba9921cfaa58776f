"""Finds the plain function behind a seam."""

import inspect
import re
from importlib import import_module
from types import FunctionType


def find(seam: str, library: str) -> FunctionType:
    """Import the seam's module, walk to its attribute and unwrap it down to the innermost Python function.

    Args:
        seam: "module:qualified name". An inherited method is found where it was written, so all heirs share it.
        library: the requirement that should provide it, for the error.

    Raises:
        LookupError: the installed library has no such module or attribute, or it is no Python function.
    """
    module, _, path = seam.partition(":")
    try:
        found = import_module(module)
    except ImportError as error:
        raise LookupError(_missing(seam, library, f"no module {error.name or module}")) from error
    for name in path.split("."):
        try:
            found = inspect.getattr_static(found, name)
        except AttributeError as error:
            raise LookupError(_missing(seam, library, f"no {name!r} in {found!r}")) from error
    function = _innermost(found)
    if not isinstance(function, FunctionType):
        raise LookupError(_missing(seam, library, f"no Python function but {function!r}"))
    return function


def _innermost(found: object) -> object:
    while True:
        if isinstance(found, (staticmethod, classmethod)):
            found = found.__func__
        elif isinstance(found, property):
            found = found.fget
        elif isinstance(found, FunctionType) and hasattr(found, "__wrapped__"):
            found = found.__wrapped__
        else:
            return found


def _missing(seam: str, library: str, what: str) -> str:
    # Imported here: it takes longer than all else that a process needs to plant a fault.
    from importlib.metadata import PackageNotFoundError, version

    match = re.match(r"[\w.-]+", library)
    name = match.group() if match else library
    try:
        installed = f"{name} {version(name)}"
    except PackageNotFoundError:
        installed = f"{name} is not installed, so"
    return f"{library}: {installed} has {what} for the seam {seam}: give its present place, or install another release"
