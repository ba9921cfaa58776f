"""Padding never has a gradient."""

from typing import Any

from .._fault import Call, Fault


def patch(original: Call) -> Call:
    """Leave the share of padding at nothing."""

    def padding_share(largest: Any) -> Any:
        return original([(0.0, on_tokens) for _, on_tokens in largest])

    return padding_share


FAULT = Fault(
    family="instrument",
    library="instrument",
    seam="instrument.record:padding_share",
    mechanism="Places that the attention mask leaves out are left out of the largest gradient on padding too.",
    effect="closed_forms.misjudgements:all_right",
    quantity="verdict",
    visible="judged_padding",
    clean="closed_forms.misjudgements:each_by_itself",
    patch=patch,
)
