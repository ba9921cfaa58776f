"""Holds what is declared equivalent against what happened."""

from collections.abc import Iterable, Mapping, Sequence

from mutation.source.mutant import Change, Mutant, Outcome


def explain(
    mutants: Iterable[Mutant], changes: Mapping[str, Change], declared: Sequence[Change]
) -> tuple[set[str], list[str]]:
    """Find the survivors that are declared equivalent, and the declarations that do not hold.

    One change may occur several times in a function; each occurrence needs its own entry.

    Args:
        changes: by name of the mutant; of every mutant whose function is named in `declared`.
        declared: the entries.

    Returns:
        Names of the equivalent mutants, and a sentence for each entry that is stale or whose mutant did not survive.
    """
    left = list(declared)
    equivalent: set[str] = set()
    others: dict[Change, Mutant] = {}
    for mutant in mutants:
        change = changes.get(mutant.name)
        if change is None:
            continue
        if mutant.outcome is not Outcome.SURVIVED:
            others[change] = mutant
        elif change in left:
            left.remove(change)
            equivalent.add(mutant.name)
    return equivalent, [refuse(entry, others.get(entry)) for entry in left]


def refuse(entry: Change, mutant: Mutant | None) -> str:
    """Say why an entry must go."""
    which = f"{entry.function} with {entry.new!r} for {entry.old!r} is declared equivalent, and"
    if mutant is None:
        return f"{which} there is no such mutant: delete the entry, or write it anew"
    by = f" (by {next(iter(mutant.kills))})" if mutant.kills else ""
    return f"{which} {mutant.name} ended as {mutant.outcome}{by} instead of surviving: delete the entry"
