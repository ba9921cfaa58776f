"""The loss compares each position with its own token."""

from typing import Any

from .._fault import Call, Fault


def patch(original: Call) -> Call:
    """Take the labels as they stand."""

    def ForCausalLMLoss(
        logits: Any,
        labels: Any,
        vocab_size: int,
        num_items_in_batch: Any = None,
        ignore_index: int = -100,
        shift_labels: Any = None,
        **kwargs: Any,
    ) -> Any:
        in_place = labels if shift_labels is None else shift_labels
        return original(logits, labels, vocab_size, num_items_in_batch, ignore_index, in_place, **kwargs)

    return ForCausalLMLoss


FAULT = Fault(
    family="masks",
    library="transformers>=5",
    seam="transformers.loss.loss_utils:ForCausalLMLoss",
    source="https://github.com/macrocosm-os/pretraining/pull/64",
    year=2024,
    mechanism="Labels are not shifted, so the model is trained to repeat the token that it reads.",
    effect="closed_forms.shifts:not_shifted",
    quantity="weights",
    visible="trainer_itself",
    patch=patch,
)
