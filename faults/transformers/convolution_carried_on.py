"""A short convolution reaches over the start of a sequence."""

from .._fault import Fault
from ._joined_rows import patch

FAULT = Fault(
    family="packing",
    library="transformers>=5",
    seam="transformers.models.lfm2.modeling_lfm2:Lfm2ShortConv.forward",
    source="https://github.com/huggingface/transformers/issues/46588",
    year=2026,
    mechanism="Emulated on padded rows: the convolution runs on over the end of a sequence, and attention does not.",
    effect="closed_forms.leaks:neighbour",
    quantity="leak",
    visible="leak_lfm2",
    patch=patch,
)
