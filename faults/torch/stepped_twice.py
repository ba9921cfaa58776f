"""A wrapper steps the optimizer, and steps it again."""

from typing import Any

from .._fault import Call, Fault


def patch(original: Call) -> Call:
    """Step once more on the gradients that are still there."""

    def step(self: Any, optimizer: Any, *args: Any, **kwargs: Any) -> Any:
        found = original(self, optimizer, *args, **kwargs)
        optimizer.step()
        return found

    return step


FAULT = Fault(
    family="optimizer",
    library="torch>=2.4",
    seam="torch.amp.grad_scaler:GradScaler.step",
    source="https://github.com/NVIDIA/physicsnemo/issues/1911",
    year=2026,
    mechanism="Both a wrapper around the training step and the loop itself step the optimizer on the same gradient.",
    effect="closed_forms.wrong_steps:two_steps",
    clean="closed_forms.wrong_steps:one_step",
    quantity="steps",
    visible="step_scaled",
    patch=patch,
)
