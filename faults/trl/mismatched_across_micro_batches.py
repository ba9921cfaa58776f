"""Completions are put behind other prompts over the window, not within the micro-batch."""

import copy
from typing import Any

from .._fault import Call, Fault


def patch(original: Call) -> Call:
    """Rotate in chunks of a window."""

    def _prepare_dataset(self: Any, dataset: Any, processing_class: Any, args: Any, dataset_name: str) -> Any:
        wide = copy.copy(args)
        wide.per_device_train_batch_size *= args.gradient_accumulation_steps
        return original(self, dataset, processing_class, wide, dataset_name)

    return _prepare_dataset


FAULT = Fault(
    family="preference",
    library="trl>=1.0",
    seam="trl.trainer.kto_trainer:KTOTrainer._prepare_dataset",
    source="https://github.com/huggingface/trl/pull/2153",
    year=2024,
    mechanism="The baseline of a micro-batch is measured on completions that it does not train on.",
    effect="closed_forms.pair_rows:kto_rows_of_window",
    clean="closed_forms.completions:kto_rows",
    quantity="weights",
    visible="trl_kto",
    patch=patch,
)
