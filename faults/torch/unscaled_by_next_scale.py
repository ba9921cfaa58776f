"""The gradient is divided by a loss scale that has grown in the meantime."""

from .._fault import Call, Fault
from .._strength import mixed
from ._unscaled import unscaled_also


def patch(original: Call, strength: float = 1.0) -> Call:
    """Divide by 2 once more, which is by how much the scale grows here."""
    return unscaled_also(original, lambda _: mixed(1, 0.5, strength))


FAULT = Fault(
    family="precision",
    library="torch>=2.4",
    seam="torch.amp.grad_scaler:GradScaler.unscale_",
    source="https://github.com/deepspeedai/DeepSpeed/pull/8588",
    year=2026,
    mechanism="The scale grows before the gradient is divided by it; emulated in torch, reported of DeepSpeed.",
    effect="closed_forms.wrong_steps:unscaled_by_next_scale",
    clean="closed_forms.wrong_steps:clipped",
    quantity="clip",
    visible="step_scaled",
    patch=patch,
    dilutes="linear",
)
