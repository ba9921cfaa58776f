"""The norm that decides on the clip is that of a part of the parameters."""

from typing import Any

from .._fault import Call, Fault


def patch(original: Call) -> Call:
    """Take the norm of the first half of the parameters, as a rank would that holds them, and clip all by it."""

    def clip_grad_norm_(parameters: Any, max_norm: float, *args: Any, **kwargs: Any) -> Any:
        every = list(parameters)
        norm = original(every[: len(every) // 2], float("inf"), *args, **kwargs)
        for parameter in every:
            if parameter.grad is not None:
                parameter.grad.mul_(min(1.0, max_norm / (float(norm) + 1e-6)))
        return norm

    return clip_grad_norm_


FAULT = Fault(
    family="optimizer",
    library="torch>=2.4",
    seam="torch.nn.utils.clip_grad:clip_grad_norm_",
    source="https://github.com/pytorch/pytorch/issues/170862",
    year=2025,
    mechanism="Each rank clips by the norm of the parameters that it holds, which is too small; emulated on one rank.",
    effect="closed_forms.wrong_clips:clipped_by_norm_of_some",
    clean="closed_forms.wrong_steps:clipped",
    quantity="clip",
    visible="step_trainer",
    patch=patch,
)
