"""What kind of failure an exception is: the test's own verdict, a refusal, or an accident."""

import dis
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Raised:
    """What the rule needs to know of an exception.

    Attributes:
        names: class names, from the exception's own to `object`.
        module: the module whose code raised it.
        own: that code lies in the project under test, not among what is installed.
        explicit: a `raise` statement raised it.
        members: of a group of exceptions, each of them.
    """

    names: tuple[str, ...]
    module: str = ""
    own: bool = False
    explicit: bool = False
    members: tuple["Raised", ...] = ()


def kind_of(raised: Raised) -> str:
    """Name the failure: "assert", "refusal" or "error".

    "assert" is an assertion made by the project or by a library's functions for testing, or pytest.fail. "refusal" is
    what the instrument documents: a ValueError, LookupError or RuntimeError that it raises by name. A group counts
    when all of its members do. All else, what Hypothesis says of itself included, is an "error".
    """
    if "HypothesisException" in raised.names:
        return "error"
    if raised.members:
        kinds = {kind_of(member) for member in raised.members}
        if "error" in kinds:
            return "error"
        return "assert" if "assert" in kinds else "refusal"
    if "AssertionError" in raised.names:
        return "assert" if raised.own or compares(raised.module) else "error"
    if raised.names[0] == "Failed" and raised.module.startswith("_pytest."):
        return "assert"
    documented = raised.names[0] in ("ValueError", "LookupError", "RuntimeError")
    if documented and raised.explicit and raised.module.split(".")[0] == "instrument":
        return "refusal"
    return "error"


def compares(module: str) -> bool:
    """Whether a library's module serves tests: `numpy.testing`, `torch.testing`, `unittest` and pytest itself."""
    parts = module.split(".")
    return parts[0] in ("_pytest", "unittest") or any(part.strip("_") == "testing" for part in parts)


def describe(error: BaseException, root: Path) -> Raised:
    """Read off an exception what the rule needs; `root` is the folder of the project under test."""
    names = tuple(cls.__name__ for cls in type(error).__mro__)
    members: tuple[Raised, ...] = ()
    if isinstance(error, BaseExceptionGroup):
        members = tuple(describe(member, root) for member in error.exceptions)
    at = error.__traceback__
    if at is None:
        return Raised(names, members=members)
    while at.tb_next is not None:
        at = at.tb_next
    code = at.tb_frame.f_code
    file = Path(code.co_filename)
    own = file.is_relative_to(root) and "site-packages" not in file.parts
    explicit = code.co_code[at.tb_lasti] == dis.opmap["RAISE_VARARGS"]
    return Raised(names, at.tb_frame.f_globals.get("__name__", ""), own, explicit, members)
