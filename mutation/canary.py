"""Two functions that show whether a run over the source can tell a mutant that lives from one that dies."""


def survives(number: int) -> int:
    """Add one; no test looks at the sum, so a run in which a mutant of this dies is void."""
    return number + 1


def dies(number: int) -> int:
    """Add one; a test asserts the sum, so a run in which a mutant of this lives is void."""
    return number + 1
