"""The hook at the read point returns what it keeps."""

from typing import Any

from .._fault import Call, Fault


def patch(original: Call) -> Call:
    """Keep the hidden states without their graph, in the very output that goes on to the head."""

    def _note_forward(self: Any, module: Any, args: Any, kwargs: Any, output: Any) -> None:
        hidden = getattr(output, "last_hidden_state", None)
        if hidden is not None:
            output.last_hidden_state = hidden.detach().requires_grad_(hidden.requires_grad)
        original(self, module, args, kwargs, output)

    return _note_forward


FAULT = Fault(
    family="instrument",
    library="instrument",
    seam="instrument.capture:Capture._note_forward",
    mechanism="Weights are read behind the cut, where they are right, and nothing below the read point is trained.",
    effect="closed_forms.absence:only_parameters",
    quantity="run",
    visible="watched_or_not",
    patch=patch,
)
