"""The backward of the unreduced cross-entropy multiplies every token by the first token's factor."""

from typing import Any

from .._fault import Call, Fault
from .._strength import mixed


def patch(original: Call, strength: float = 1.0) -> Call:
    """Read one number of the gradient that comes from above."""

    def cross_entropy(*args: Any, **kwargs: Any) -> Any:
        loss = original(*args, **kwargs)
        if loss.requires_grad:
            loss.register_hook(lambda upstream: mixed(upstream, upstream.flatten()[0], strength))
        return loss

    return cross_entropy


FAULT = Fault(
    family="normalisation",
    library="torch>=2.4",
    seam="torch.nn.functional:cross_entropy",
    source="https://github.com/linkedin/Liger-Kernel/issues/968",
    year=2025,
    mechanism="A loss per token gets the first token's factor everywhere; emulated in torch, reported of Liger.",
    effect="closed_forms.kernels:first_upstream",
    quantity="weights",
    visible="trainer_own_loss",
    patch=patch,
    dilutes="linear",
    clean="closed_forms.aggregation:per_sequence_mean",
)
