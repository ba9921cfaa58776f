"""The mask of the prompt is one token too long, so the first token of the answer is not trained on."""

from typing import Any

from .._fault import Call, Fault


def patch(original: Call) -> Call:
    """Mask the first target of each row that has another one, before the targets are counted."""

    def get_batch_samples(self: Any, epoch_iterator: Any, num_batches: int, device: Any) -> Any:
        batches, _ = original(self, epoch_iterator, num_batches, device)
        for batch in batches:
            labels = batch["labels"] = batch["labels"].clone()
            for row in labels:
                targets = (row[1:] != -100).nonzero()[:, 0] + 1
                if len(targets) > 1:
                    row[targets[0]] = -100
        return batches, self._get_num_items_in_batch(batches, device)

    return get_batch_samples


FAULT = Fault(
    family="masks",
    library="transformers>=5",
    seam="transformers.trainer:Trainer.get_batch_samples",
    source="https://github.com/verl-project/verl/pull/3287",
    year=2025,
    mechanism="The loss mask is cut off by one, so nobody learns with which token an answer begins; reported of verl.",
    effect="closed_forms.aggregation:targets_dropped",
    quantity="weights",
    visible="trainer_first_targets",
    patch=patch,
)
