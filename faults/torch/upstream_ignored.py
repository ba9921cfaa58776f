"""The backward of the cross-entropy ignores what it is multiplied with."""

import inspect
from typing import Any

from .._fault import Call, Fault
from .._strength import mixed


def patch(original: Call, strength: float = 1.0) -> Call:
    """Hand back the gradient of the bare loss, whatever gradient comes from above."""

    def cross_entropy(*args: Any, **kwargs: Any) -> Any:
        call = inspect.signature(original).bind(*args, **kwargs)
        logits = call.arguments["input"]
        if not logits.requires_grad:
            return original(*call.args, **call.kwargs)
        call.arguments["input"] = alone = logits.detach().requires_grad_(True)
        original(*call.args, **call.kwargs).sum().backward()
        call.arguments["input"] = handed = logits.view_as(logits)
        handed.register_hook(lambda right: mixed(right, alone.grad, strength))
        return original(*call.args, **call.kwargs)

    return cross_entropy


FAULT = Fault(
    family="normalisation",
    library="torch>=2.4",
    seam="torch.nn.functional:cross_entropy",
    source="https://github.com/SeanNaren/warp-ctc/issues/69",
    year=2018,
    mechanism="A factor on the loss has no effect on the gradient; emulated in torch, reported of a CTC loss.",
    effect="closed_forms.aggregation:token_sum",
    quantity="weights",
    visible="trainer_accumulation",
    patch=patch,
    dilutes="linear",
)
