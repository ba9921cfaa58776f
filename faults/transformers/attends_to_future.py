"""The attention kernel is given no mask and is not told to be causal."""

import inspect
from typing import Any

from .._fault import Call, Fault


def patch(original: Call) -> Call:
    """Attend to everything where no mask is given."""

    def sdpa_attention_forward(*args: Any, **kwargs: Any) -> Any:
        call = inspect.signature(original).bind(*args, **kwargs)
        if call.arguments["attention_mask"] is None:
            call.arguments["is_causal"] = False
        return original(*call.args, **call.kwargs)

    return sdpa_attention_forward


FAULT = Fault(
    family="packing",
    library="transformers>=5",
    seam="transformers.integrations.sdpa_attention:sdpa_attention_forward",
    source="https://github.com/huggingface/transformers/issues/48748",
    year=2026,
    mechanism="Where the mask is left out because the kernel could be causal by itself, the kernel is not causal.",
    effect="closed_forms.leaks:everything",
    quantity="leak",
    visible="leak_without_boundaries",
    clean="closed_forms.leaks:lower_triangular",
    patch=patch,
)
