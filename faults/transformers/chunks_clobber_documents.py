"""The chunk mask takes the place of the documents."""

import inspect
from typing import Any

from .._fault import Call, Fault


def patch(original: Call) -> Call:
    """Build the chunks without the documents."""

    def create_chunked_causal_mask(*args: Any, **kwargs: Any) -> Any:
        call = inspect.signature(original).bind(*args, **kwargs)
        call.arguments["position_ids"] = None
        return original(*call.args, **call.kwargs)

    return create_chunked_causal_mask


FAULT = Fault(
    family="packing",
    library="transformers>=5",
    seam="transformers.masking_utils:create_chunked_causal_mask",
    source="https://github.com/huggingface/transformers/issues/37429",
    year=2025,
    mechanism="Building the chunks overwrites the documents, so those that share a chunk see each other.",
    effect="closed_forms.leaks:blockwise",
    quantity="leak",
    visible="leak_chunked",
    patch=patch,
)
