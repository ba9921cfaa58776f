"""The last window of an epoch is divided by the configured number of micro-batches, of which it has fewer."""

from typing import Any
from unittest import mock

from .._fault import Call, Fault
from .._strength import mixed


def patch(original: Call, strength: float = 1.0) -> Call:
    """Divide by the configured number of micro-batches in every window."""

    def training_step(self: Any, model: Any, inputs: Any, num_items_in_batch: Any = None) -> Any:
        of_window, configured = self.current_gradient_accumulation_steps, self.args.gradient_accumulation_steps
        divisor = mixed(of_window, configured, strength)
        with mock.patch.object(self, "current_gradient_accumulation_steps", divisor):
            return original(self, model, inputs, num_items_in_batch)

    return training_step


FAULT = Fault(
    family="normalisation",
    library="transformers>=5",
    seam="transformers.trainer:Trainer.training_step",
    source="https://github.com/huggingface/transformers/pull/39659",
    year=2025,
    mechanism="A window of k < M micro-batches is divided by M, where the loss of the model takes no count.",
    effect="closed_forms.aggregation:short_window",
    quantity="weights",
    visible="trainer_tail_without_count",
    patch=patch,
    dilutes="harmonic",
    clean="closed_forms.aggregation:mean_of_micro_batch_means",
)
