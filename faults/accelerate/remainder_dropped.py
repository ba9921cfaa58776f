"""What does not fill a batch on every rank is never trained on."""

from typing import Any

from .._fault import Call, Fault


def patch(original: Call) -> Call:
    """Drop the remainder whatever was asked for."""

    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:
        original(self, *args, **kwargs)
        self.drop_last = True

    return __init__


FAULT = Fault(
    family="samplers",
    library="accelerate>=1",
    seam="accelerate.data_loader:BatchSamplerShard.__init__",
    source="https://github.com/lhotse-speech/lhotse/pull/695",
    year=2022,
    mechanism="The rest of the data that is not a multiple of the ranks is dropped unasked; emulated in accelerate.",
    effect="closed_forms.shares:remainder_dropped",
    quantity="ledger",
    visible="ranks_uneven",
    patch=patch,
    clean="closed_forms.shares:filled_up",
)
