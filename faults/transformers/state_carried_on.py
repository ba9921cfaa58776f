"""A recurrent layer begins each sequence with the state that the one before left."""

from .._fault import Fault
from ._joined_rows import patch

FAULT = Fault(
    family="packing",
    library="transformers>=5",
    seam="transformers.models.mamba.modeling_mamba:MambaMixer.forward",
    source="https://github.com/NovaSky-AI/SkyRL/pull/2056",
    year=2026,
    mechanism="Emulated on padded rows: the scan runs on over the boundary of two sequences, with its state.",
    effect="closed_forms.leaks:lower_triangular",
    quantity="leak",
    visible="leak_mamba",
    patch=patch,
)
