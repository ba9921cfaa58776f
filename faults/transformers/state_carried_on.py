"""A recurrent layer begins each sequence with the state that the one before left."""

from typing import Any

from .._fault import Call, Fault


def patch(original: Call) -> Call:
    """Scan all rows as one."""

    def forward(self: Any, hidden_states: Any, cache: Any = None, attention_mask: Any = None, **kwargs: Any) -> Any:
        rows, tokens = hidden_states.shape[:2]
        joined = original(self, hidden_states.flatten(0, 1)[None], None, None, **kwargs)
        return joined.unflatten(1, (rows, tokens))[0]

    return forward


FAULT = Fault(
    library="transformers>=5",
    seam="transformers.models.mamba.modeling_mamba:MambaMixer.forward",
    source="https://github.com/NovaSky-AI/SkyRL/pull/2056",
    year=2026,
    mechanism="The scan runs on over the boundary of two sequences, with its state.",
    effect="closed_forms.leaks:lower_triangular",
    quantity="leak",
    visible="leak_mamba",
    patch=patch,
)
