"""One thing that is to be told of a run."""

from dataclasses import dataclass

from ..codes import kinds, of_the_run

LEVELS = FAULT, WARNING, NOTE = "fault", "warning", "note"


@dataclass(frozen=True)
class Finding:
    """One thing that was found.

    Attributes:
        code: see `docs/verdicts.md`.
        level: "fault", "warning": likely a mistake, or "note".
        said: in words.
        windows: in which of the recorded windows, from 0 on.
    """

    code: str
    level: str
    said: str
    windows: tuple[int, ...]

    def stage(self) -> str:
        """Where in the step it arises."""
        known = {**kinds(), **of_the_run()}
        return known[self.code].stage if self.code in known else "unknown"
