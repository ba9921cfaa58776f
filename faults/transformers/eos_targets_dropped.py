"""With the end-of-sequence token as padding token, the real ends of the rows are masked like padding."""

from typing import Any

from .._fault import Call, Fault


def patch(original: Call) -> Call:
    """Mask every label that is the end-of-sequence token."""

    def torch_call(self: Any, examples: Any) -> Any:
        batch = original(self, examples)
        batch["labels"][batch["labels"] == self.tokenizer.eos_token_id] = -100
        return batch

    return torch_call


FAULT = Fault(
    family="masks",
    library="transformers>=5",
    seam="transformers.data.data_collator:DataCollatorForLanguageModeling.torch_call",
    source="https://github.com/huggingface/transformers/issues/23530",
    year=2023,
    mechanism="The collator masks labels by token id, so a pad token equal to the end token hides every end of a row.",
    effect="closed_forms.aggregation:targets_dropped",
    quantity="weights",
    visible="trainer_collator",
    patch=patch,
)
