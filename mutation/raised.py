"""What kind of failure an exception is: the test's own verdict, a refusal, or an accident."""

import dis
import re
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
    """Whether a library's module serves tests: `numpy.testing`, `accelerate.test_utils`, `unittest`, pytest itself."""
    parts = module.split(".")
    return parts[0] in ("_pytest", "unittest") or any(part.strip("_") in ("testing", "test_utils") for part in parts)


def describe(error: BaseException, root: Path) -> Raised:
    """Read off an exception what the rule needs; `root` is the folder of the project under test."""
    told = told_elsewhere(error)
    if told:
        return read_off(told, root)
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
    own = lies_in(Path(code.co_filename), root)
    explicit = code.co_code[at.tb_lasti] == dis.opmap["RAISE_VARARGS"]
    return Raised(names, at.tb_frame.f_globals.get("__name__", ""), own, explicit, members)


def lies_in(file: Path, root: Path) -> bool:
    """Whether code is the project's; an environment may lie in the project, and the project in an environment."""
    return file.is_relative_to(root) and "site-packages" not in file.relative_to(root).parts


def told_elsewhere(error: BaseException) -> str:
    """The traceback of the process in which the error was raised, where this one only passes it on; else nothing.

    So do torch.multiprocessing, in the text of its own exception, and the pools of the standard library, as the cause.
    """
    if type(error).__name__ == "ProcessRaisedException":
        return str(error)
    if type(error.__cause__).__name__ in ("RemoteTraceback", "_RemoteTraceback"):
        return str(error.__cause__)
    return ""


def read_off(told: str, root: Path) -> Raised:
    """As `describe`, from a printed traceback: its last frame, and the line below it that names the class."""
    frame = re.compile(
        r'^ +File "(?P<file>.+)", line \d+, in .+\n(?P<code>(?: {4}.*\n)*)(?P<name>\S*?)[:\n]', re.MULTILINE
    )
    found = list(frame.finditer(told + "\n"))
    if not found:
        return Raised(("",))
    file, code, name = Path(found[-1]["file"]), found[-1]["code"], found[-1]["name"]
    parts = file.parts[file.parts.index("site-packages") + 1 :] if "site-packages" in file.parts else file.parts
    if lies_in(file, root):
        parts = file.relative_to(root).parts
    module = ".".join(parts).removesuffix(".py")
    return Raised((name.rpartition(".")[2],), module, lies_in(file, root), code.lstrip().startswith("raise"))
