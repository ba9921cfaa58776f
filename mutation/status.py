"""What a fault's runs say about the suite: the rules, without any input or output.

A cell is one test under one fault. Its kind is "pass", "skipped", "assert", "refusal", "error", "crash", "timeout" or
"uncollected". Exit codes of pytest are never read: they call a broken import a failing test.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum


class Status(StrEnum):
    """How a fault ended. None of these is ever merged with another."""

    KILLED = "killed"  # a test failed by its own assertion, or the instrument refused, in two runs
    SURVIVED = "survived"  # the seam was entered and every test passed
    EQUIVALENT = "equivalent"  # survived, as declared with a reason
    NOT_REACHED = "not reached"  # no test enters the seam
    ERROR_ONLY = "error only"  # nothing but TypeErrors and the like: noticed by accident
    CRASH_ONLY = "crash only"  # the process died
    TIMEOUT_ONLY = "timeout only"  # nothing but hanging tests
    UNCOLLECTED_ONLY = "uncollected only"  # tests vanished
    FLAKY = "flaky"  # failed once, not again
    STALE = "stale"  # the seam is no longer there
    HARNESS = "harness"  # the campaign itself failed


class Effect(StrEnum):
    """Whether the fault, on its own, showed the closed form that it declares."""

    MATCHED = "matched"
    MISMATCHED = "mismatched"
    MISSING = "missing"  # no effect test carries the fault's name
    NOT_ASKED = "not asked"  # the suite is another project's


@dataclass(frozen=True)
class Evidence:
    """All that the verdict on one fault rests on.

    Attributes:
        first: kind of each test that ran under the fault.
        second: kind of each killing test when it ran again, in a process of its own.
        hits: calls of the seam under the fault, as far as they were counted.
        equivalent: declared not to be noticeable.
        stale: what is missing where the seam was.
        harness: what went wrong outside of any test.
    """

    first: Mapping[str, str] = field(default_factory=dict)
    second: Mapping[str, str] = field(default_factory=dict)
    hits: int = 0
    equivalent: bool = False
    stale: str = ""
    harness: str = ""


def kills(kinds: Mapping[str, str]) -> list[str]:
    """Name the tests that noticed, in order."""
    return sorted(test for test, kind in kinds.items() if kind in ("assert", "refusal"))


def killers(first: Mapping[str, str], second: Mapping[str, str]) -> list[str]:
    """Name the tests that noticed twice."""
    again = kills(second)
    return [test for test in kills(first) if test in again]


def status_of(evidence: Evidence) -> Status:
    """Name how the fault ended.

    The order matters. A test that fails although the seam was never entered is a failure of the campaign, not a kill.
    A process that dies takes its count with it, so what crashed or hung was reached.
    """
    kinds = set(evidence.first.values()) - {"pass", "skipped"}
    if evidence.harness:
        return Status.HARNESS
    if evidence.stale:
        return Status.STALE
    if evidence.hits == 0 and not kinds:
        return Status.NOT_REACHED
    if evidence.hits == 0 and kinds & {"assert", "refusal", "error"}:
        return Status.HARNESS
    if killers(evidence.first, evidence.second):
        return Status.KILLED
    if kills(evidence.first):
        return Status.FLAKY
    for kind, status in (
        ("crash", Status.CRASH_ONLY),
        ("timeout", Status.TIMEOUT_ONLY),
        ("error", Status.ERROR_ONLY),
        ("uncollected", Status.UNCOLLECTED_ONLY),
    ):
        if kind in kinds:
            return status
    return Status.EQUIVALENT if evidence.equivalent else Status.SURVIVED


def effect_of(kinds: Mapping[str, str]) -> Effect:
    """Say whether the effect tests of one fault all passed, where it is planted by nobody but the test."""
    if not kinds:
        return Effect.MISSING
    return Effect.MATCHED if set(kinds.values()) == {"pass"} else Effect.MISMATCHED


def accepted(status: Status, effect: Effect, equivalent: bool) -> bool:
    """Whether the campaign may pass: killed and understood; or, where declared equivalent, found to be just that."""
    if equivalent:
        return status is Status.EQUIVALENT
    return status is Status.KILLED and effect in (Effect.MATCHED, Effect.NOT_ASKED)
