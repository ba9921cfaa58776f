"""The loss scale is undone after clipping."""

from typing import Any

from .._fault import Call, Fault


def patch(original: Call) -> Call:
    """Undo the scale only when the scaler's own step asks for it, which is the second call of each step."""

    def unscale_(self: Any, optimizer: Any) -> None:
        asked = self.__dict__.setdefault("_asked_early", set())
        if id(optimizer) in asked:
            asked.discard(id(optimizer))
            original(self, optimizer)
        else:
            asked.add(id(optimizer))

    return unscale_


FAULT = Fault(
    family="optimizer",
    library="torch>=2.4",
    seam="torch.amp.grad_scaler:GradScaler.unscale_",
    source="https://github.com/TorchSSL/TorchSSL/pull/59",
    year=2022,
    mechanism="The gradient is clipped while the loss scale is still in it, so that every step is far too short.",
    effect="closed_forms.wrong_steps:clipped_before_unscaling",
    clean="closed_forms.wrong_steps:clipped",
    quantity="clip",
    visible="step_scaled",
    patch=patch,
)
