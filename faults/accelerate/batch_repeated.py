"""Two steps in a row are fed the same batch."""

from typing import Any

from .._fault import Call, Fault


def patch(original: Call) -> Call:
    """Hand over each batch of even number in place of the one behind it, too."""

    def __iter__(self: Any) -> Any:
        kept = None
        for number, batch in enumerate(original(self)):
            kept = batch if number % 2 == 0 else kept
            yield kept

    return __iter__


FAULT = Fault(
    family="samplers",
    library="accelerate>=1",
    seam="accelerate.data_loader:DataLoaderShard.__iter__",
    source="https://github.com/dscripka/openWakeWord/pull/202",
    year=2024,
    mechanism="Consecutive steps train on one batch, and every other batch is never seen; emulated in accelerate.",
    effect="closed_forms.feeding:batch_repeated",
    quantity="weights",
    visible="trainer_windows",
    patch=patch,
)
