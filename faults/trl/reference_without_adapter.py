"""Training goes on from an adapter, and the reference is the model without it."""

from typing import Any

from .._fault import Call, Fault


def patch(original: Call) -> Call:
    """Switch every adapter off."""

    def use_adapter(model: Any, adapter_name: Any) -> Any:
        return original(model, None)

    return use_adapter


FAULT = Fault(
    family="adapters",
    library="trl>=1.0",
    seam="trl.trainer.utils:use_adapter",
    source="https://github.com/huggingface/trl/issues/1340",
    year=2024,
    mechanism="The policy is held to the base model instead of the model that it started from.",
    effect="closed_forms.pair_rows:sigmoid_pairs_of_base",
    clean="closed_forms.pair_rows:sigmoid_pairs",
    quantity="weights",
    visible="trl_dpo_adapter",
    patch=patch,
)
