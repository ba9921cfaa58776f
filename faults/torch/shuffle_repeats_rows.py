"""A shuffle that swaps rows in place loses one of each two."""

from typing import Any

from .._fault import Call, Fault


def patch(original: Call) -> Call:
    """Draw every row of even place again, instead of the one behind it."""

    def __iter__(self: Any) -> Any:
        kept = None
        for place, row in enumerate(original(self)):
            kept = row if place % 2 == 0 else kept
            yield kept

    return __iter__


FAULT = Fault(
    family="samplers",
    library="torch>=2.4",
    seam="torch.utils.data.sampler:RandomSampler.__iter__",
    source="https://github.com/r9y9/wavenet_vocoder/issues/130",
    year=2018,
    mechanism="Elements of a tensor are views, so swapping two of them copies one over the other; emulated in torch.",
    effect="closed_forms.feeding:drawn_twice",
    quantity="weights",
    visible="trainer_shuffled",
    patch=patch,
)
