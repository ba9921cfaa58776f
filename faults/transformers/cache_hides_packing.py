"""The model makes a cache while it trains, which turns the isolation of documents off."""

import inspect
from typing import Any

from .._fault import Call, Fault


def patch(original: Call) -> Call:
    """Always make a cache."""

    def forward(*args: Any, **kwargs: Any) -> Any:
        call = inspect.signature(original).bind(*args, **kwargs)
        call.arguments["use_cache"] = True
        return original(*call.args, **call.kwargs)

    return forward


FAULT = Fault(
    family="packing",
    library="transformers>=5",
    seam="transformers.models.llama.modeling_llama:LlamaModel.forward",
    source="https://github.com/huggingface/transformers/issues/42586",
    year=2025,
    mechanism="A cache is created in every training forward, and documents are only looked for without one.",
    effect="closed_forms.leaks:lower_triangular",
    quantity="leak",
    visible="leak_flattened",
    patch=patch,
)
