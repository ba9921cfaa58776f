"""All that is known of a run when it has ended; everything that is told of it is told from this."""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ..record import Record
from .finding import FAULT, Finding

if TYPE_CHECKING:
    # They import torch, which a script that never did need not wait for.
    from ..leak_record import Leaks
    from .certificate import Certificate
    from .defaults import Change

OK, FAULTY, NOT_JUDGED, NO_VERDICT = "OK", "FAULT", "NOT JUDGED", "NO VERDICT"


@dataclass(frozen=True)
class Outcome:
    """A measured run.

    Attributes:
        script: as it was called, and its exit status.
        status: the exit status of the script.
        right: what the run does right; empty where that is not judged.
        findings: faults first.
        reason: why there is no verdict at all; empty when there is one.
        record: what was measured, or None.
        model: class of the measured model.
        tokenizer: turns ids into text, or None.
        notes: how the model was chosen, what was left out, how the recording ended.
        stages: a line for each stage of the step, where what follows backward was measured.
        options: arguments of the trainer that bear on the weights.
        changes: what the run sets differently from the defaults of its trainer and its optimizers.
        certificate: whether the run is what it would have been; None where nothing was attached to it.
        leaks: what a search for leaks found; None without one, and `unsearched` says why.
        unsearched: why there is none; empty where it was not asked for.
        own_labels: the batch that was searched had no labels, so each token stood for its own.
    """

    script: list[str]
    status: int
    right: str = ""
    findings: list[Finding] = field(default_factory=list)
    reason: str = ""
    record: Record | None = None
    model: str = ""
    tokenizer: Any = None
    notes: list[str] = field(default_factory=list)
    stages: tuple[str, ...] = ()
    options: dict[str, Any] = field(default_factory=dict)
    changes: "dict[str, Change]" = field(default_factory=dict)
    certificate: "Certificate | None" = None
    leaks: "Leaks | None" = None
    unsearched: str = ""
    own_labels: bool = False

    def verdict(self) -> str:
        """One of the four words."""
        if self.reason:
            return NO_VERDICT
        if any(finding.level == FAULT for finding in self.findings):
            return FAULTY
        return OK if self.right else NOT_JUDGED

    def line(self) -> str:
        """The verdict in one line."""
        if self.reason:
            return f"{NO_VERDICT}: {self.reason}"
        worst = self.findings[0] if self.findings else None
        if worst is not None and worst.level == FAULT:
            return f"{FAULTY} [{worst.code}] {worst.said}"
        if self.right:
            return f"{OK}: {self.right}"
        said = next((f.said for f in self.findings if f.code == "not-judged"), "nothing can be told")
        return f"{NOT_JUDGED}: {said}"

    def failed(self, kinds: list[str]) -> bool:
        """Whether one of the kinds of --fail-on was found: a code, "any" fault, "warning" too, "no-verdict", "none"."""
        levels = {finding.level for finding in self.findings}
        codes = {finding.code for finding in self.findings}
        return (
            ("any" in kinds and FAULT in levels)
            or ("warning" in kinds and bool(levels & {FAULT, "warning"}))
            or ("no-verdict" in kinds and self.verdict() in (NO_VERDICT, NOT_JUDGED))
            or bool(codes & set(kinds))
        )
