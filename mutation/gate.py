"""Whether a campaign passes, and if not, what stands in its way."""

from collections.abc import Mapping
from dataclasses import dataclass

from mutation.expectations import Expectations, matches
from mutation.matrix import Matrix
from mutation.record import Record


@dataclass(frozen=True)
class Judgement:
    """What there is to say.

    Attributes:
        problems: one sentence for each thing that the campaign cannot pass with.
        as_expected: faults that ended as declared under [expected], with the reason.
        excused: tests that kill nothing as declared under [idle], with the reason.
    """

    problems: tuple[str, ...]
    as_expected: Mapping[str, str]
    excused: Mapping[str, str]


def judge(record: Record, matrix: Matrix | None, expectations: Expectations) -> Judgement:
    """Hold a campaign against its rule: every fault is killed and understood, every test kills.

    Args:
        matrix: of all faults; without it nothing is said about tests.
    """
    as_expected = {
        name: entry.reason
        for name, entry in expectations.faults.items()
        if name in record.faults and record.faults[name].status is entry.status
    }
    problems = faults_in_the_way(record, expectations, as_expected)
    if matrix is None:
        return Judgement(tuple(problems), as_expected, {})
    excused = {
        test: reason for test in matrix.idle for pattern, reason in expectations.idle.items() if matches(pattern, test)
    }
    problems += [
        f"{test} kills nothing: plant the fault that it is there for, or give a reason under [idle]"
        for test in matrix.idle
        if test not in excused
    ]
    return Judgement((*problems, *idle_entries_in_the_way(matrix, expectations.idle)), as_expected, excused)


def faults_in_the_way(record: Record, expectations: Expectations, as_expected: Mapping[str, str]) -> list[str]:
    """Name the faults that are not accepted and the expectations that are not met."""
    problems = []
    for name, fault in record.faults.items():
        if name in expectations.faults:
            if name not in as_expected:
                wanted = expectations.faults[name].status
                problems.append(f"{name} is {fault.status}, and [expected] declares {wanted}: correct or delete it")
        elif not fault.accepted:
            problems.append(f"{name} is {fault.status}, effect {fault.effect}: it must be killed and measured")
    return problems


def idle_entries_in_the_way(matrix: Matrix, idle: Mapping[str, str]) -> list[str]:
    """Name the entries of [idle] that excuse nobody, or somebody who kills."""
    problems = []
    for pattern in idle:
        meant = [test for test in matrix.kills if matches(pattern, test)]
        working = [test for test in meant if test not in matrix.idle]
        if not meant:
            problems.append(f"[idle] {pattern!r} matches no test: delete it")
        elif working:
            problems.append(f"[idle] {pattern!r} excuses {working[0]}, which kills: delete or narrow it")
    return problems
