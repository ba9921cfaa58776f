"""A short convolution reaches over the start of a sequence."""

from typing import Any

from .._fault import Call, Fault


def patch(original: Call) -> Call:
    """Convolve all rows as one."""

    def forward(self: Any, hidden_states: Any, cache: Any = None, attention_mask: Any = None, **kwargs: Any) -> Any:
        rows, tokens = hidden_states.shape[:2]
        joined = original(self, hidden_states.flatten(0, 1)[None], None, None, **kwargs)
        return joined.unflatten(1, (rows, tokens))[0]

    return forward


FAULT = Fault(
    library="transformers>=5",
    seam="transformers.models.lfm2.modeling_lfm2:Lfm2ShortConv.forward",
    source="https://github.com/huggingface/transformers/issues/46588",
    year=2026,
    mechanism="The convolution of a hybrid model runs on over the boundary of two sequences, which attention respects.",
    effect="closed_forms.leaks:neighbour",
    quantity="leak",
    visible="leak_lfm2",
    patch=patch,
)
