"""The mask of the completion is dropped while the rows are prepared."""

from .._fault import Call, Fault
from ._column import without_column


def patch(original: Call) -> Call:
    """Drop the column."""
    return without_column(original, "completion_mask")


FAULT = Fault(
    family="masks",
    library="trl>=1.0",
    seam="trl.trainer.sft_trainer:SFTTrainer._prepare_dataset",
    source="https://github.com/huggingface/trl/issues/3781",
    year=2025,
    mechanism="Prompts are trained like the completions.",
    effect="closed_forms.target_rows:targets_with_prompts",
    clean="closed_forms.target_rows:targets",
    quantity="weights",
    visible="trl_sft",
    patch=patch,
)
