"""Each group of parameters is clipped by its own norm."""

from typing import Any

from .._fault import Call, Fault


def patch(original: Call) -> Call:
    """Clip matrices and the rest apart, as the groups of the Trainer's optimizer are."""

    def clip_grad_norm_(parameters: Any, max_norm: float, *args: Any, **kwargs: Any) -> Any:
        every = list(parameters)
        norms = [
            original([p for p in every if (p.dim() > 1) is wide], max_norm, *args, **kwargs) for wide in (True, False)
        ]
        return (norms[0] ** 2 + norms[1] ** 2) ** 0.5

    return clip_grad_norm_


FAULT = Fault(
    family="optimizer",
    library="torch>=2.4",
    seam="torch.nn.utils.clip_grad:clip_grad_norm_",
    source="https://github.com/huggingface/transformers/pull/614",
    year=2019,
    mechanism="The norm is taken, and the gradient clipped, group by group, which bends the step.",
    effect="closed_forms.wrong_steps:clipped_by_kind",
    clean="closed_forms.wrong_steps:clipped",
    quantity="clip",
    visible="step_trainer",
    patch=patch,
)
