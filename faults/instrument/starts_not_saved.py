"""Where documents begin in a row is not in the file."""

from typing import Any

from .._fault import Call, Fault


def patch(original: Call) -> Call:
    """Forget the starts of a row that is read."""

    def row_of(plain: Any) -> Any:
        return original({name: value for name, value in plain.items() if name != "starts"})

    return row_of


FAULT = Fault(
    family="instrument",
    library="instrument",
    seam="instrument.saved:row_of",
    mechanism="A row of several documents is one sample once it was saved, and none of those that were given.",
    effect="closed_forms.misjudgements:none_found",
    quantity="ledger",
    visible="ledger_saved",
    patch=patch,
)
