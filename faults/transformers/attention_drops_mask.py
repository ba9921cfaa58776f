"""The attention kernel only knows a causal mask and drops the one it is given."""

import inspect
from typing import Any

from .._fault import Call, Fault


def patch(original: Call) -> Call:
    """Attend causally, whatever the mask."""

    def sdpa_attention_forward(*args: Any, **kwargs: Any) -> Any:
        call = inspect.signature(original).bind(*args, **kwargs)
        call.arguments.update(attention_mask=None, is_causal=True)
        return original(*call.args, **call.kwargs)

    return sdpa_attention_forward


FAULT = Fault(
    family="packing",
    library="transformers>=5",
    seam="transformers.integrations.sdpa_attention:sdpa_attention_forward",
    source="https://github.com/NVIDIA/Megatron-LM/issues/415",
    year=2023,
    mechanism="The mask that separates the documents is made and then not used.",
    effect="closed_forms.leaks:lower_triangular",
    quantity="leak",
    visible="leak_flattened",
    patch=patch,
)
