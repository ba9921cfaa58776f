"""What one check found about one architecture."""

from dataclasses import dataclass, field
from typing import Any

OK, DEVIATES, NOT_APPLICABLE, NO_READING = "ok", "deviates", "not applicable", "no reading"


@dataclass(frozen=True)
class Cell:
    """The answer of one check.

    Attributes:
        status: "ok"; "deviates" from what a right stack gives; "not applicable" to this architecture; "no reading" when
            the check could not be carried out.
        figure: what was measured, in the unit that the check says; None without a measurement.
        said: the same in words, or why there is none.
    """

    status: str
    figure: float | None
    said: str


@dataclass
class Result:
    """All that was found about one architecture.

    Attributes:
        name: as transformers registers it.
        reason: why it could not be built; empty when it was.
        model: name of its class.
        parameters: their number.
        config: arguments of its config class.
        cells: by the name of the check.
        tails: ends of the scripts that ask again, by the name of the check; see repro.
        seconds: processor time.
    """

    name: str
    reason: str = ""
    model: str = ""
    parameters: int = 0
    config: dict[str, Any] = field(default_factory=dict)
    tails: dict[str, str] = field(default_factory=dict)
    cells: dict[str, Cell] = field(default_factory=dict)
    seconds: float = 0.0


def conclusive(cell: Cell) -> bool:
    """Whether the question was answered."""
    return cell.status != NO_READING
