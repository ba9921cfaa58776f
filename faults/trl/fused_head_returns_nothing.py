"""The backward of the fused head returns a gradient of zero."""

from typing import Any

from .._fault import Call, Fault


def patch(original: Call) -> Call:
    """Multiply what comes from above by 0."""

    def backward(ctx: Any, grad_logprobs: Any, grad_entropy: Any, *rest: Any) -> Any:
        return original(ctx, None if grad_logprobs is None else 0 * grad_logprobs, grad_entropy, *rest)

    return backward


FAULT = Fault(
    family="preference",
    library="trl>=1.0",
    seam="trl.kernels.chunked_logprob:ChunkedLogProbFunction.backward",
    source="https://github.com/unslothai/unsloth/issues/5230",
    year=2026,
    mechanism="Nothing is trained while the loss looks plausible; emulated, reported of rows that are mostly masked.",
    effect="closed_forms.pair_rows:no_pairs",
    clean="closed_forms.pair_rows:sigmoid_pairs",
    quantity="weights",
    visible="trl_dpo_adapter",
    patch=patch,
)
