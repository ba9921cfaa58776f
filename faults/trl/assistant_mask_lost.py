"""The mask of the assistant's turns is dropped while the rows are prepared."""

from .._fault import Call, Fault
from ._column import without_column


def patch(original: Call) -> Call:
    """Drop the column."""
    return without_column(original, "assistant_masks")


FAULT = Fault(
    family="masks",
    library="trl>=1.0",
    seam="trl.trainer.sft_trainer:SFTTrainer._prepare_dataset",
    source="https://github.com/huggingface/trl/issues/3728",
    year=2025,
    mechanism="What the user and the system say is trained like the answers.",
    effect="closed_forms.target_rows:targets_of_all_turns",
    clean="closed_forms.target_rows:targets",
    quantity="weights",
    visible="trl_sft",
    patch=patch,
)
