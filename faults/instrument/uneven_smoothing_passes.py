"""Only the median share of label smoothing is looked at."""

from typing import Any

from .._fault import Call, Fault


def patch(original: Call) -> Call:
    """Tell the median as the smallest and the largest share too."""

    def smoothing_of(record: Any, window: Any) -> Any:
        share = original(record, window)[0]
        return share, share, share

    return smoothing_of


FAULT = Fault(
    family="instrument",
    library="instrument",
    seam="instrument.elsewhere:smoothing_of",
    mechanism="One number stands for all targets, so that rows which are smoothed differently look alike.",
    effect="closed_forms.misjudgements:all_right",
    quantity="verdict",
    visible="judged_uneven_smoothing",
    clean="closed_forms.misjudgements:each_by_itself",
    patch=patch,
)
