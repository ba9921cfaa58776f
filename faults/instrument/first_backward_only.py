"""What is read of the embedding is its gradient after the first backward."""

from typing import Any

from .._fault import Call, Fault


def patch(original: Call) -> Call:
    """Keep the gradient of a window once it is there."""

    def _keep(self: Any, parameter: Any) -> None:
        if self._gradient is None:
            original(self, parameter)

    return _keep


FAULT = Fault(
    family="instrument",
    library="instrument",
    seam="instrument.probe_record:ProbeRecorder._keep",
    mechanism="The gradient is kept when it first comes and not again, so that later micro-batches look lost.",
    effect="closed_forms.misreadings:first_backward_read",
    quantity="weights",
    visible="trainer_accumulation",
    patch=patch,
)
