"""What a run says that it minimises: the kind of its loss, and what its trainer hands to the loss at each forward.

Letters: b rows, t tokens.
"""

import sys
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch

from ..capture import Replay
from .surroundings import Surroundings

MEAN, TARGETS, PAIRS, POLICY, OWN, UNKNOWN = "token mean", "supervised", "pairs", "policy", "own", "unknown"


@dataclass
class Heard:
    """One forward with gradients on.

    Attributes:
        mask: [b, t] tokens that are no padding.
        told: by name, what the trainer hands to its loss: advantages, log-probabilities of other models ...
    """

    mask: np.ndarray
    told: dict[str, np.ndarray] = field(default_factory=dict)


class Objective:
    """The loss of a run, as far as it is known.

    Attributes:
        kind: MEAN: the token mean; TARGETS, PAIRS, POLICY: TRL's losses that have closed forms of their own;
            OWN: computed outside of the model; UNKNOWN: a trainer whose loss has no closed form here.
        reason: why a kind is OWN or UNKNOWN.
        heard: the recorded forwards.
        labelled: labels went into the model.
    """

    def __init__(self, kind: str, reason: str, trainer: Any) -> None:
        self.kind, self.reason, self.trainer = kind, reason, trainer
        self.heard: list[Heard] = []
        self.labelled = False
        self._handles: list[Any] = []

    def listen(self, module: Any) -> None:
        """Note what goes into the loss from now on."""
        self._handles = [module.register_forward_pre_hook(self.before, with_kwargs=True)]
        reference = getattr(self.trainer, "ref_model", None)
        for model in [module] if reference is None else [module, reference]:
            if self.kind == PAIRS:
                self._handles.append(model.register_forward_hook(self.after))

    def stop(self) -> None:
        """Take the hooks off."""
        while self._handles:
            self._handles.pop().remove()

    def before(self, module: Any, args: Any, kwargs: dict[str, Any]) -> None:
        """Note a forward with gradients on."""
        if not torch.is_grad_enabled() or Replay.running:
            return
        names = ("labels", "shift_labels", "targets")
        self.labelled |= len(args) > 1 or any(kwargs.get(name) is not None for name in names)
        ids, mask = kwargs.get("input_ids"), kwargs.get("attention_mask")
        if self.kind in (TARGETS, PAIRS, POLICY) and isinstance(ids, torch.Tensor):
            there = torch.ones_like(ids) if mask is None or mask.shape != ids.shape else mask
            self.heard.append(Heard(there.cpu().numpy() > 0, told_by_trainer() if self.kind != TARGETS else {}))

    def after(self, module: Any, args: Any, output: Any) -> None:
        """Note the log-probabilities of the reference, which runs without gradients after the policy."""
        log_p = getattr(output, "log_probs", None)
        if self.heard and isinstance(log_p, torch.Tensor) and not torch.is_grad_enabled() and not Replay.running:
            self.heard[-1].told["reference"] = log_p.detach().double().cpu().numpy()


def told_by_trainer() -> dict[str, np.ndarray]:
    """The tensors in the `inputs` of the `_compute_loss` that runs the model now."""
    frame: Any = sys._getframe(2)
    while frame is not None and frame.f_code.co_name != "_compute_loss":
        frame = frame.f_back
    inputs = {} if frame is None else frame.f_locals.get("inputs", {})
    names = (
        *("advantages", "completion_mask", "tool_mask", "num_items_in_batch", "old_per_token_logps"),
        *("ref_per_token_logps", "ref_chosen_logps", "ref_rejected_logps", "importance_sampling_ratio"),
    )
    found = {name: inputs[name] for name in names if isinstance(inputs.get(name), torch.Tensor)}
    return {name: value.detach().double().cpu().numpy() for name, value in found.items()}


def objective_of(around: Surroundings, model: Any) -> Objective:
    """The loss that a trainer is known to have, or that of the model when there is no trainer."""
    trainer, kinds = around.trainer, around.kinds()
    if trainer is None:
        return Objective(MEAN, "", None)
    name = next((kind for kind in kinds if kind.endswith("Trainer")), kinds[0])
    changed = overridden(trainer)
    if changed:
        return Objective(OWN, f"{changed} of the script computes the loss", trainer)
    if getattr(trainer, "compute_loss_func", None) is not None:
        return Objective(OWN, "compute_loss_func computes the loss", trainer)
    args, first = trainer.args, next(kind for kind in type(trainer).__mro__ if not written_here(kind)).__name__
    if first == "Trainer" or first == "Seq2SeqTrainer":
        return Objective(MEAN, "", trainer)
    if first == "SFTTrainer":
        return Objective(MEAN if args.loss_type == "nll" else TARGETS, "", trainer)
    odd = unusual(args, trainer)
    if first in ("DPOTrainer", "GRPOTrainer", "RLOOTrainer") and odd:
        return Objective(UNKNOWN, f"{name} with {odd} has no closed form here", trainer)
    if first == "DPOTrainer":
        return Objective(PAIRS, "", trainer)
    if first in ("GRPOTrainer", "RLOOTrainer"):
        return Objective(POLICY, "", trainer)
    return Objective(UNKNOWN, f"the loss of {name} is not compared with its closed form on a run of yours", trainer)


def overridden(trainer: Any) -> str:
    """The method of a class of the script that computes the loss in the place of the library's; empty without one."""
    for kind in type(trainer).__mro__:
        if not written_here(kind):
            return ""
        found = [name for name in ("compute_loss", "_compute_loss", "training_step") if name in vars(kind)]
        if found:
            return f"{kind.__name__}.{found[0]}"
    return ""


def written_here(kind: type) -> bool:
    """Whether a class is of neither transformers nor TRL."""
    return kind.__module__.split(".")[0] not in ("transformers", "trl")


def unusual(args: Any, trainer: Any) -> str:
    """An argument for which the closed forms here do not hold, with its value; empty without one."""
    plain = {
        "use_weighting": (False,),
        "use_vllm": (False,),
        "off_policy_mask_threshold": (None,),
        "top_entropy_quantile": (1.0,),
        "entropy_coef": (None, 0, 0.0),
        "use_adaptive_entropy": (False,),
        "sync_ref_model": (False,),
        "use_liger_kernel": (False,),
        "router_aux_loss_coef": (None, 0, 0.0, 0.001),
        "temperature": (1.0,),
        "sapo_temperature_pos": (1.0,),
        "sapo_temperature_neg": (1.05,),
    }
    if getattr(trainer, "aux_loss_enabled", False):
        return "a router's loss"
    odd = [name for name, usual in plain.items() if hasattr(args, name) and getattr(args, name) not in usual]
    return f"{odd[0]}={getattr(args, odd[0])!r}" if odd else ""
