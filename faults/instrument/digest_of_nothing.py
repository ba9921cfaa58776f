"""All ranks are said to step on one gradient."""

from typing import Any

from .._fault import Call, Fault


def patch(original: Call) -> Call:
    """Tell no gradient from another."""

    def digest_of_gradient(model: Any) -> Any:
        return original(model)[:0]

    return digest_of_gradient


FAULT = Fault(
    family="instrument",
    library="instrument",
    seam="instrument.gathering:digest_of_gradient",
    mechanism="What is compared between ranks is empty on each of them, so that ranks which never average agree.",
    effect="closed_forms.misjudgements:all_right",
    quantity="verdict",
    visible="ranks_apart",
    clean="closed_forms.misjudgements:each_by_itself",
    patch=patch,
)
