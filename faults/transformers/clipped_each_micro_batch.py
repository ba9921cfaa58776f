"""The gradient is clipped behind each backward, and not once before the step."""

from typing import Any

from .._fault import Call, Fault


def patch(original: Call) -> Call:
    """Clip behind the backward of each micro-batch that the step does not follow."""

    def training_step(self: Any, model: Any, inputs: Any, num_items_in_batch: Any = None) -> Any:
        loss = original(self, model, inputs, num_items_in_batch)
        if self.args.max_grad_norm and not self.accelerator.sync_gradients:
            self.accelerator.clip_grad_norm_(model.parameters(), self.args.max_grad_norm)
        return loss

    return training_step


FAULT = Fault(
    family="optimizer",
    library="transformers>=5",
    seam="transformers.trainer:Trainer.training_step",
    source="https://github.com/huggingface/transformers/issues/1563",
    year=2019,
    mechanism="What has been accumulated is clipped again and again, so early micro-batches weigh less than late ones.",
    effect="closed_forms.wrong_clips:clipped_on_the_way",
    clean="closed_forms.wrong_steps:whole_sum",
    quantity="shares",
    visible="step_trainer",
    patch=patch,
)
