"""Every micro-batch of a window is its first one."""

from typing import Any

from .._fault import Call, Fault


def patch(original: Call) -> Call:
    """Fetch the micro-batches of the window, and use the first again and again."""

    def get_batch_samples(self: Any, epoch_iterator: Any, num_batches: int, device: Any) -> Any:
        batches, _ = original(self, epoch_iterator, num_batches, device)
        batches = batches[:1] * len(batches)
        return batches, self._get_num_items_in_batch(batches, device)

    return get_batch_samples


FAULT = Fault(
    family="samplers",
    library="transformers>=5",
    seam="transformers.trainer:Trainer.get_batch_samples",
    source="https://github.com/baaivision/URSA/issues/10",
    year=2026,
    mechanism="Accumulation runs over one batch M times, so M - 1 batches of each step are never trained on.",
    effect="closed_forms.feeding:first_micro_batch_repeated",
    quantity="weights",
    visible="trainer_accumulation",
    patch=patch,
)
