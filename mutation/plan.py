"""What a campaign is asked to do."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from faults import Fault


@dataclass(frozen=True)
class Plan:
    """What to run.

    Attributes:
        faults: by name.
        out: folder for what the campaign writes.
        suite: paths of the tests that must notice.
        effects: path of the tests that plant one fault each, by its name as their parameter, and measure its closed
            form. They prove that a fault is understood; they never count as noticing it.
        equivalent: names of faults that nobody can notice, with the reason.
        first_kill: stop at the first test that notices a fault, instead of running all that reach it.
        workers: children at a time.
        patience: least seconds that a test gets under a fault, however quick it is without.
    """

    faults: Mapping[str, Fault]
    out: Path
    suite: Sequence[str] = ("tests/properties",)
    effects: str = "tests/faults/test_effects.py"
    equivalent: Mapping[str, str] = field(default_factory=dict)
    first_kill: bool = True
    workers: int = 2
    patience: float = 5.0
