"""The probability by which dynamic fine-tuning multiplies a token's loss carries gradient too."""

from typing import Any

from .._fault import Call, Fault


def patch(original: Call, strength: float = 1.0) -> Call:
    """Let the gradient of each log-probability have the share that it has when p log p is differentiated as a whole."""

    def compute_loss(self: Any, model: Any, inputs: Any, *args: Any, **kwargs: Any) -> Any:
        if self.args.loss_type != "dft":
            return original(self, model, inputs, *args, **kwargs)

        def hook(module: Any, given: Any, outputs: Any) -> Any:
            fixed = outputs.log_probs.detach()
            # d(p log p) = p (1 + log p) d(log p), where the trainer's own loss, p held fixed, gives p d(log p).
            carried = outputs.log_probs * (1 + strength * fixed)
            outputs.log_probs = fixed + (carried - carried.detach())
            return outputs

        handle = model.register_forward_hook(hook)
        try:
            return original(self, model, inputs, *args, **kwargs)
        finally:
            handle.remove()

    return compute_loss


FAULT = Fault(
    family="regularizers",
    library="trl>=1.0",
    seam="trl.trainer.sft_trainer:SFTTrainer.compute_loss",
    source="https://github.com/modelscope/twinkle/pull/291",
    year=2026,
    mechanism="Tokens less likely than 1/e are trained away, and the loss is the same; emulated in TRL, of twinkle.",
    effect="closed_forms.target_rows:targets_of_differentiated_probability",
    clean="closed_forms.target_rows:targets_of_probability",
    quantity="weights",
    visible="trl_sft_dft",
    patch=patch,
    dilutes="linear",
)
