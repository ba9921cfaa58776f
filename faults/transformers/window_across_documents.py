"""A sliding window is laid over the pack and not over each document."""

import inspect
from typing import Any

from .._fault import Call, Fault


def patch(original: Call) -> Call:
    """Build the window without the documents."""

    def create_sliding_window_causal_mask(*args: Any, **kwargs: Any) -> Any:
        call = inspect.signature(original).bind(*args, **kwargs)
        call.arguments["position_ids"] = None
        return original(*call.args, **call.kwargs)

    return create_sliding_window_causal_mask


FAULT = Fault(
    family="packing",
    library="transformers>=5",
    seam="transformers.masking_utils:create_sliding_window_causal_mask",
    source="https://github.com/pytorch/torchtitan/issues/4801",
    year=2026,
    mechanism="The window is counted through the whole pack, so a document's first tokens see the last ones before it.",
    effect="closed_forms.leaks:window_limited",
    quantity="leak",
    visible="leak_sliding_window",
    patch=patch,
)
