"""What a run over the source comes to: outcomes, scores, and why it may not pass."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatch

from mutation.source.explained import explain
from mutation.source.mutant import Change, Mutant, Outcome, function_of
from mutation.source.score import Counts, complaints, count


@dataclass(frozen=True)
class Result:
    """What was found.

    Attributes:
        mutants: those that are scored.
        wrong: what keeps the run from passing; empty when it passes.
    """

    mutants: Sequence[Mutant]
    wrong: Sequence[str]

    def modules(self) -> dict[str, Counts]:
        """How the mutants of each file ended."""
        return {
            path: count(mutant.outcome for mutant in self.mutants if mutant.path == path)
            for path in sorted({mutant.path for mutant in self.mutants})
        }

    def open_ones(self) -> list[Mutant]:
        """The mutants that nobody noticed or explained."""
        fine = (Outcome.ASSERTED, Outcome.ERROR_ONLY, Outcome.EQUIVALENT)
        return [mutant for mutant in self.mutants if mutant.outcome not in fine]


def is_canary(name: str) -> bool:
    """Whether a mutant belongs to a module named canary, which is there to be found out and is not scored."""
    return function_of(name).split(".")[-2] == "canary"


def matches(name: str, patterns: Sequence[str]) -> bool:
    """Whether a mutant's name fits one of some patterns; an empty sequence is fitted by every name."""
    return not patterns or any(fnmatch(name, pattern) for pattern in patterns)


def spell(pattern: str) -> str:
    """The pattern that mutmut understands: a module, package or function stands for all mutants below it."""
    return pattern if "*" in pattern or "__mutmut_" in pattern else f"{pattern}*"


def refuse_void(mutants: Sequence[Mutant]) -> None:
    """Check that the outcomes mean something.

    The canaries are `survives`, whose mutants no test judges, and `dies`, all of whose mutants are judged.

    Raises:
        RuntimeError: a canary ended otherwise or is missing; mutants were not run, or none was; all mutants of one
            file timed out.
    """
    canaries = [mutant for mutant in mutants if is_canary(mutant.name)]
    scored = [mutant for mutant in mutants if not is_canary(mutant.name)]
    for function, meant in (("survives", Outcome.SURVIVED), ("dies", Outcome.ASSERTED)):
        ends = [mutant.outcome for mutant in canaries if function_of(mutant.name).endswith(f".{function}")]
        if not ends:
            raise RuntimeError(
                f"there is no mutant of canary.{function}: the run is void; let mutmut mutate the canary"
            )
        if set(ends) != {meant}:
            raise RuntimeError(
                f"the mutants of canary.{function} ended as {sorted(set(ends))} and must be {meant}: the run is void"
            )
    lost = [mutant.name for mutant in scored if mutant.outcome is Outcome.NOT_RUN]
    if lost:
        raise RuntimeError(f"{len(lost)} mutants were not run, {lost[0]} first: the run is void; start it again")
    if not scored:
        raise RuntimeError("there is no mutant to score: the run is void; choose a pattern that fits some module")
    for path in sorted({mutant.path for mutant in scored}):
        ends = [mutant.outcome for mutant in scored if mutant.path == path]
        if set(ends) == {Outcome.TIMEOUT}:
            raise RuntimeError(
                f"all {len(ends)} mutants of {path} timed out: the run is void, not perfect; start no thread before "
                "the tests, or make them quicker"
            )


def settle(
    mutants: Iterable[Mutant], changes: Mapping[str, Change], declared: Sequence[Change], sampled: bool = False
) -> Result:
    """Set apart what is declared equivalent, score the rest and say what is wrong.

    Args:
        mutants: those in question, without the canaries.
        changes: by name, of every mutant of a function that is named in `declared`.
        declared: the entries that speak of the functions in question.
        sampled: whether the mutants are a sample: the few of one module then say nothing of that module.
    """
    ran = list(mutants)
    equivalent, refused = explain(ran, changes, declared)
    settled = [
        replace(mutant, outcome=Outcome.EQUIVALENT) if mutant.name in equivalent else mutant
        for mutant in sorted(ran, key=lambda mutant: (mutant.path, mutant.name))
    ]
    result = Result(settled, ())
    return Result(settled, [*refused, *complaints(result.modules(), each=not sampled)])
