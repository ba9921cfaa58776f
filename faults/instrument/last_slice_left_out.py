"""The vocabulary is read in whole slices, and what is left of it is not."""

from typing import Any

from .._fault import Call, Fault


def patch(original: Call) -> Call:
    """Cut the vocabulary down to a multiple of a slice."""

    def expected_column(head: Any, hidden_nh: Any, width: int) -> Any:
        kept = head.vocabulary
        head.vocabulary = max(kept // width, 1) * width if kept > width else kept
        try:
            return original(head, hidden_nh, width)
        finally:
            head.vocabulary = kept

    return expected_column


FAULT = Fault(
    family="instrument",
    library="instrument",
    seam="instrument.live:expected_column",
    mechanism="A loop over slices ends before the last one, which is not full, so that a small vocabulary reads right.",
    effect="closed_forms.misread_heads:rest_of_vocabulary_left_out",
    quantity="weights",
    visible="watched_wide_vocabulary",
    patch=patch,
)
