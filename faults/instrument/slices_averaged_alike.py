"""Each slice of the vocabulary has a softmax of its own."""

from typing import Any

from .._fault import Call, Fault


def patch(original: Call) -> Call:
    """Average what the slices say by themselves."""

    def expected_column(head: Any, hidden_nh: Any, width: int) -> Any:
        _, lse_n = original(head, hidden_nh, width)
        means = []
        for start in range(0, head.vocabulary, width):
            logits_nv, pull = head.slice(hidden_nh, start, min(start + width, head.vocabulary))
            means.append(pull(logits_nv.softmax(-1)))
        return sum(means) / len(means), lse_n

    return expected_column


FAULT = Fault(
    family="instrument",
    library="instrument",
    seam="instrument.live:expected_column",
    mechanism="The running maximum and mass are not carried from slice to slice, and one slice alone reads right.",
    effect="closed_forms.misread_heads:slices_averaged_alike",
    quantity="weights",
    visible="watched_wide_vocabulary",
    patch=patch,
)
