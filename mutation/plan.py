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
        catalogue: where a process that a test starts finds them, as "module:mapping".
        suite: paths of the tests that must notice.
        effects: path of the tests that plant one fault each, by its name as their parameter, and measure its closed
            form. They prove that a fault is understood; they never count as noticing it. Empty: nothing is asked.
        equivalent: names of faults that nobody can notice, with the reason.
        killers: by fault, tests that have noticed it before: they go first, and nothing else follows from it.
        sentinels: put the faults of known verdict on trial beside these.
        first_kill: stop at the first test that notices a fault, instead of running all that reach it.
        workers: children at a time.
        memory: GiB that each of them may hold, with all that its tests start.
        cache: take what earlier campaigns in the folder have shown, where nothing has changed that it depends on.
        cold: each fault in a fresh process that has it on before the suite is collected.
        resume: go on with the campaign in the folder that was interrupted.
        share: of what the cache holds, the part that runs again to check it.
        audit: of the cells that should not be reached, the part that runs all the same.
        shard: this is part I of N of a campaign, over `asked`.
        asked: names of the faults of all parts.
        patience: least seconds that a test gets under a fault, however quick it is without.
    """

    faults: Mapping[str, Fault]
    out: Path
    catalogue: str = "faults:CATALOGUE"
    suite: Sequence[str] = ("tests/properties",)
    effects: str = "tests/faults/test_effects.py"
    equivalent: Mapping[str, str] = field(default_factory=dict)
    killers: Mapping[str, Sequence[str]] = field(default_factory=dict)
    sentinels: bool = False
    first_kill: bool = True
    workers: int = 2
    memory: float = 6.0
    cache: bool = False
    cold: bool = False
    resume: bool = False
    share: float = 0.05
    audit: float = 0.0
    shard: tuple[int, int] | None = None
    asked: Sequence[str] = ()
    patience: float = 5.0

    def as_plain(self) -> dict[str, object]:
        """What must be the same in a campaign that goes on with another."""
        return {
            "mode": "first" if self.first_kill else "matrix",
            "faults": sorted(self.faults),
            "suite": list(self.suite),
            "effects": self.effects,
            "cache": self.cache,
            "cold": self.cold,
            "audit": self.audit,
            "shard": list(self.shard or ()),
        }
