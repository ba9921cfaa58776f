"""The mask of the completion is dropped while the rows are prepared."""

from typing import Any

from .._fault import Call, Fault


def patch(original: Call) -> Call:
    """Drop the column."""

    def _prepare_dataset(self: Any, dataset: Any, *args: Any) -> Any:
        names = [name for name in ("completion_mask",) if name in dataset.column_names]
        return original(self, dataset.remove_columns(names), *args)

    return _prepare_dataset


FAULT = Fault(
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
