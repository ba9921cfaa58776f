"""Logits and labels are shifted by hand, and then once more by the loss."""

from typing import Any

from .._fault import Call, Fault


def patch(original: Call) -> Call:
    """Shift and flatten before the loss, which shifts too."""

    def ForCausalLMLoss(
        logits: Any,
        labels: Any,
        vocab_size: int,
        num_items_in_batch: Any = None,
        ignore_index: int = -100,
        shift_labels: Any = None,
        **kwargs: Any,
    ) -> Any:
        if shift_labels is None:
            logits, labels = logits[:, :-1].flatten(0, 1), labels[:, 1:].flatten()
        return original(logits, labels, vocab_size, num_items_in_batch, ignore_index, shift_labels, **kwargs)

    return ForCausalLMLoss


FAULT = Fault(
    family="masks",
    library="transformers>=5",
    seam="transformers.loss.loss_utils:ForCausalLMLoss",
    source="https://github.com/huggingface/transformers/issues/47394",
    year=2026,
    mechanism="A token is scored on the one after the next, and a row's last position on the row behind it.",
    effect="closed_forms.shifts:shifted_twice",
    quantity="weights",
    visible="trainer_two_apart",
    patch=patch,
)
