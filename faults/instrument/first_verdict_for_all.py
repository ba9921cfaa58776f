"""The verdict on the first window is told of every window."""

from typing import Any

from .._fault import Call, Fault


def patch(original: Call) -> Call:
    """Repeat the first verdict."""

    def verdicts(self: Any) -> Any:
        found = original(self)
        return [found[0] for _ in found]

    return verdicts


FAULT = Fault(
    family="instrument",
    library="instrument",
    seam="instrument.report.report:Report.verdicts",
    mechanism="A verdict is kept once it is there, and a run that goes wrong in its second step passes.",
    effect="closed_forms.misjudgements:all_as_the_first",
    quantity="verdict",
    visible="judged_windows",
    clean="closed_forms.misjudgements:each_by_itself",
    patch=patch,
)
