"""One mutant of the source: what it is called, what it changed, and how it ended."""

from collections.abc import Collection
from dataclasses import dataclass
from enum import StrEnum


class Outcome(StrEnum):
    """How a mutant ended. None of these is ever merged with another."""

    ASSERTED = "asserted"  # a test failed by its own assertion, or the instrument refused
    ERROR_ONLY = "error only"  # tests failed, but of TypeErrors and the like: noticed by accident
    SURVIVED = "survived"  # every test that calls the function passed
    EQUIVALENT = "equivalent"  # survived, as declared with a reason
    NO_TESTS = "no tests"  # no test calls the function
    TIMEOUT = "timeout"  # nothing but hanging tests
    CRASHED = "crashed"  # the process died
    NOT_RUN = "not run"  # the run was interrupted before


@dataclass(frozen=True)
class Change:
    """What a mutant changed. It identifies the mutant: mutmut's running numbers shift with every edit.

    Attributes:
        function: "module.function" or "module.Class.method".
        old: the lines that were taken out, their white space reduced to single spaces.
        new: the lines that stand there instead.
    """

    function: str
    old: str
    new: str


@dataclass(frozen=True)
class Mutant:
    """A mutant and what became of it.

    Attributes:
        name: mutmut's name, "module.x_function__mutmut_3".
        path: file that was mutated, below the project.
        outcome: see there.
        kills: kind of failure, by test that failed.
    """

    name: str
    path: str
    outcome: Outcome
    kills: dict[str, str]


def outcome_of(exit_code: int | None, kinds: Collection[str]) -> Outcome:
    """Name how a mutant ended.

    Args:
        exit_code: what mutmut booked; its table of codes is that of release 3.8.
        kinds: of the failures that were logged, see `mutation.raised.kind_of`.
    """
    if "assert" in kinds or "refusal" in kinds:
        return Outcome.ASSERTED
    if exit_code in (1, 3):
        return Outcome.ERROR_ONLY
    if exit_code == 0:
        return Outcome.SURVIVED
    if exit_code in (5, 33):
        return Outcome.NO_TESTS
    if exit_code in (24, -24, 36, 152, 255):
        return Outcome.TIMEOUT
    return Outcome.NOT_RUN if exit_code in (None, 2) else Outcome.CRASHED


def function_of(name: str) -> str:
    """Name the function that a mutant belongs to, as Python would."""
    mangled = name.partition("__mutmut_")[0]
    module, _, function = mangled.rpartition(".")
    # mutmut writes x_function, and for methods x, Class and method with U+01C1 between them.
    parts = function.split("\u01c1")[1:] or [function.removeprefix("x_")]
    return ".".join([module, *parts])


def change_of(name: str, diff: str) -> Change:
    """Read what a mutant changed off its unified diff."""
    lines = diff.partition("@@")[2].splitlines()
    old = [" ".join(line[1:].split()) for line in lines if line.startswith("-")]
    new = [" ".join(line[1:].split()) for line in lines if line.startswith("+")]
    return Change(function_of(name), "\n".join(old), "\n".join(new))
