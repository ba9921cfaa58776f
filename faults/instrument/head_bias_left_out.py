"""The softmax knows nothing of the head's bias."""

from typing import Any

from .._fault import Call, Fault


def patch(original: Call) -> Call:
    """Take the bias off the logits of a slice."""

    def slice(self: Any, hidden_nh: Any, start: int, stop: int) -> Any:
        logits_nv, pull = original(self, hidden_nh, start, stop)
        bias = getattr(self.linear, "bias", None)
        return (logits_nv if bias is None else logits_nv - bias.detach()[start:stop]), pull

    return slice


FAULT = Fault(
    family="instrument",
    library="instrument",
    seam="instrument.live:LinearHead.slice",
    mechanism="Few heads have a bias, and without one every weight is right.",
    effect="closed_forms.misread_heads:bias_left_out",
    quantity="weights",
    visible="watched_biased_head",
    patch=patch,
)
