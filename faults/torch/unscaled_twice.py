"""The loss scale is divided out once by the loop, and once more by the optimizer."""

from .._fault import Call, Fault
from .._strength import mixed
from ._unscaled import unscaled_also


def patch(original: Call, strength: float = 1.0) -> Call:
    """Divide by the scale once more."""
    return unscaled_also(original, lambda scaler: mixed(1, 1 / scaler.get_scale(), strength))


FAULT = Fault(
    family="precision",
    library="torch>=2.4",
    seam="torch.amp.grad_scaler:GradScaler.unscale_",
    source="https://github.com/THUDM/slime/pull/1842",
    year=2026,
    mechanism="Both the loop and the step of the optimizer undo the loss scale; emulated in torch, reported of slime.",
    effect="closed_forms.wrong_clips:unscaled_twice",
    clean="closed_forms.wrong_steps:clipped",
    quantity="clip",
    visible="step_scaled",
    patch=patch,
    dilutes="linear",
)
