"""What should be scored is what was."""

from typing import Any

from .._fault import Call, Fault


def patch(original: Call) -> Call:
    """Take the labels that came for those that should."""

    def make_row(intended: Any, scored: Any, *args: Any) -> Any:
        return original(scored, scored, *args)

    return make_row


FAULT = Fault(
    family="instrument",
    library="instrument",
    seam="instrument.probe_record:make_row",
    mechanism="A target whose label got lost is not missed, since nobody asks for it.",
    effect="closed_forms.misjudgements:all_right",
    quantity="verdict",
    visible="judged_unlabelled",
    clean="closed_forms.misjudgements:each_by_itself",
    patch=patch,
)
