"""Five per cent are called rounding."""

from typing import Any

from .._fault import Call, Fault


def patch(original: Call) -> Call:
    """Allow a twentieth of a weight at least."""

    def tolerance(record: Any, row: Any, micro_batches: int) -> Any:
        return original(record, row, micro_batches).clip(0.05)

    return tolerance


FAULT = Fault(
    family="instrument",
    library="instrument",
    seam="instrument.readable:tolerance",
    mechanism="A floor under the tolerance, meant for half precision, holds for every dtype.",
    effect="closed_forms.misjudgements:fits_within_tolerance",
    quantity="verdict",
    visible="judged_opposed",
    clean="closed_forms.misjudgements:nothing_fits",
    patch=patch,
)
