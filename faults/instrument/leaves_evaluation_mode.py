"""The model is in evaluation mode when it comes back."""

from typing import Any

from .._fault import Call, Fault


def patch(original: Call) -> Call:
    """Switch to evaluation mode to run the probe, and stay there."""

    def run_without_checkpoints(model: Any, embedded: Any) -> Any:
        logits = original(model, embedded)
        model.eval()
        return logits

    return run_without_checkpoints


FAULT = Fault(
    family="instrument",
    library="instrument",
    seam="instrument.probe_record:run_without_checkpoints",
    mechanism="The mode that is needed to read is not undone, so whoever trains on trains without dropout.",
    effect="closed_forms.absence:only_modes",
    quantity="run",
    visible="probed_or_not",
    patch=patch,
)
