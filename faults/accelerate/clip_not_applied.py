"""The norm is measured and logged, and nothing is clipped."""

from typing import Any

from .._fault import Call, Fault


def patch(original: Call) -> Call:
    """Measure the norm, with a limit that nothing exceeds."""

    def clip_grad_norm_(self: Any, parameters: Any, max_norm: float, norm_type: int = 2) -> Any:
        return original(self, parameters, float("inf"), norm_type)

    return clip_grad_norm_


FAULT = Fault(
    family="optimizer",
    library="accelerate",
    seam="accelerate.accelerator:Accelerator.clip_grad_norm_",
    source="https://github.com/huggingface/trl/issues/3312",
    year=2025,
    mechanism="The trainer is told to clip, and the gradient reaches the optimizer as large as it was.",
    effect="closed_forms.wrong_steps:not_clipped",
    clean="closed_forms.wrong_steps:clipped",
    quantity="clip",
    visible="step_trainer",
    patch=patch,
)
