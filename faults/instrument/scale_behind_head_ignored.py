"""What is behind the head's matrix is run, and not differentiated."""

from typing import Any

from .._fault import Call, Fault


def patch(original: Call) -> Call:
    """Go back through the matrix alone."""

    def slice(self: Any, hidden_nh: Any, start: int, stop: int) -> Any:
        logits_nv, pull = original(self, hidden_nh, start, stop)
        if self.matrix is None:
            return logits_nv, pull
        weight_vh = self.matrix.weight.detach()[start:stop].to(hidden_nh.dtype)
        return logits_nv, lambda slope_nv: slope_nv @ weight_vh

    return slice


FAULT = Fault(
    family="instrument",
    library="instrument",
    seam="instrument.live:ReplayedHead.slice",
    mechanism="A slice goes back by the matrix as in a linear head, so that a scale or a soft-cap behind it is lost.",
    effect="closed_forms.misread_heads:scale_not_differentiated",
    quantity="weights",
    visible="watched_divided_logits",
    patch=patch,
)
