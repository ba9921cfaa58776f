"""What a checkpoint counts are optimizer steps, and what is skipped are micro-batches."""

from typing import Any

from .._fault import Call, Fault


def patch(original: Call) -> Call:
    """Skip one micro-batch for each window that had run."""

    def _init_training_state(self: Any, *args: Any, **kwargs: Any) -> Any:
        epochs, batches = original(self, *args, **kwargs)
        return epochs, batches // self.args.gradient_accumulation_steps

    return _init_training_state


FAULT = Fault(
    family="samplers",
    library="transformers>=5",
    seam="transformers.trainer:Trainer._init_training_state",
    source="https://github.com/huggingface/transformers/issues/5605",
    year=2020,
    mechanism="A run that is resumed amid an epoch runs batches again that it had seen, and misses as many at the end.",
    effect="closed_forms.resumes:resumed_behind_windows",
    clean="closed_forms.resumes:each_once_an_epoch",
    quantity="ledger",
    visible="resumed_trainer",
    patch=patch,
)
