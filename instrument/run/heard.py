"""What a trainer hands to its loss at each forward of the model, and what other models say of the same tokens.

Letters: b rows, t tokens.
"""

import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch

from ..capture import Replay
from ..forward import named_arguments

Told = dict[str, np.ndarray]


@dataclass
class Heard:
    """One forward with gradients on.

    Attributes:
        mask: [b, t] tokens that are no padding.
        told: by name, what the trainer hands to its loss: advantages, log-probabilities of other models ...
    """

    mask: np.ndarray
    told: Told = field(default_factory=dict)


class Hearing:
    """Notes what goes into the loss of one of TRL's trainers.

    Args:
        family: the trainer's class, as TRL calls it; empty for a loss that needs nothing but the model's own tokens.
        reference: the reference model, or None.

    Attributes:
        heard: the recorded forwards.
        labelled: labels went into the model.
    """

    def __init__(self, family: str, reference: Any) -> None:
        self._family, self._reference = family, reference
        self.heard: list[Heard] = []
        self.labelled = False
        self._handles: list[Any] = []
        self._open: Any = None

    def listen(self, module: Any) -> None:
        """Note what goes into the loss from now on.

        Under data parallelism the trainer's own loss runs the wrapper, and its reference the model inside.
        """
        while isinstance(module, torch.nn.parallel.DistributedDataParallel):
            module = module.module
        self._handles = [module.register_forward_pre_hook(self.before, with_kwargs=True)]
        if self._family in ("DPOTrainer", "KTOTrainer", "CPOTrainer", "ORPOTrainer", "OnlineDPOTrainer"):
            for model in [module] if self._reference is None else [module, self._reference]:
                self._handles.append(model.register_forward_hook(self.after, with_kwargs=True))

    def stop(self) -> None:
        """Take the hooks off."""
        self.settle()
        while self._handles:
            self._handles.pop().remove()

    def before(self, module: Any, args: Any, kwargs: dict[str, Any]) -> None:
        """Note a forward with gradients on."""
        if Replay.running:
            return
        if self._open is not frame_of("training_step"):
            self.settle()
        if not torch.is_grad_enabled():
            return
        names = ("labels", "shift_labels", "targets")
        self.labelled |= len(args) > 1 or any(kwargs.get(name) is not None for name in names)
        given = named_arguments(module, args, kwargs) if self._family else {}
        ids, mask = given.get("input_ids"), given.get("attention_mask")
        if isinstance(ids, torch.Tensor):
            there = torch.ones_like(ids) if mask is None or mask.shape != ids.shape else mask
            self.heard.append(Heard(there.cpu().numpy() > 0, self.told()))

    def told(self) -> Told:
        """What the function that runs the model now was given, or has made, for its loss."""
        if self._family in ("CPOTrainer", "ORPOTrainer"):
            labels = locals_of("concatenated_forward").get("concatenated_batch", {}).get("concatenated_labels")
            return {} if labels is None else {"completion": labels[:, 1:].cpu().numpy() != -100}
        if self._family == "OnlineDPOTrainer":
            # The rewards are made behind the forward: they are read when the next one begins.
            self._open = frame_of("training_step")
            mask = locals_of("_forward").get("completion_mask")
            return {} if mask is None else {"completion": mask.cpu().numpy() > 0}
        names = (
            *("advantages", "completion_mask", "tool_mask", "num_items_in_batch", "old_per_token_logps"),
            *("ref_per_token_logps", "ref_chosen_logps", "ref_rejected_logps", "importance_sampling_ratio"),
            *("label", "ref_logps", "ref_KL_logps", "KL_completion_mask"),
        )
        if self._family == "SFTTrainer":
            return {}
        if self._family == "RewardTrainer":
            return numbers(locals_of("compute_loss").get("inputs", {}), ("margin",))
        frame = locals_of("_compute_loss")
        return {**numbers(frame.get("inputs", {}), names), **numbers(frame, ("KL_logps",))}

    def settle(self) -> None:
        """Take from the last step of the trainer what it has made since, and let its frame go."""
        if self._open is not None:
            self.heard[-1].told |= numbers(self._open.f_locals, ("rewards",))
            self._open = None

    def after(self, module: Any, args: Any, kwargs: dict[str, Any], output: Any) -> None:
        """Note log-probabilities: the policy's where its loss is made of logits, and those of what has no gradients."""
        if Replay.running:
            return
        given = named_arguments(module, args, kwargs)
        if torch.is_grad_enabled():
            if self._family in ("CPOTrainer", "ORPOTrainer", "OnlineDPOTrainer") and self.heard:
                self.heard[-1].told["policy"] = of_logits(output, given["input_ids"])
        elif self.heard and not self.heard[-1].told.keys() & {"reference", "ref_logps", "ref_chosen_logps"}:
            self.of_the_reference(output, given)

    def of_the_reference(self, output: Any, given: dict[str, Any]) -> None:
        """The first that runs without gradients behind a forward of the policy, but for what only measures it."""
        log_p = getattr(output, "log_probs", None)
        # KTO's completions behind other prompts: their sums stand in the frame of the loss.
        if isinstance(log_p, torch.Tensor) and frame_of("_compute_kl_logps") is None:
            self.heard[-1].told |= numbers({"reference": log_p}, ("reference",))
            self.heard[-1].told |= numbers(locals_of("_compute_loss"), ("ref_KL_logps",))
        elif frame_of("_forward") is not None:
            self.heard[-1].told["reference"] = of_logits(output, given["input_ids"])


def frame_of(function: str) -> Any:
    """The innermost frame of a function of that name among those that lead here, or None."""
    frame: Any = sys._getframe(1)
    while frame is not None and frame.f_code.co_name != function:
        frame = frame.f_back
    return frame


def locals_of(function: str) -> Any:
    """What that frame holds, by name; empty where there is none."""
    return getattr(frame_of(function), "f_locals", {})


def numbers(mapping: Any, names: tuple[str, ...]) -> Told:
    """The tensors of these names."""
    found = {name: mapping[name] for name in names if isinstance(mapping.get(name), torch.Tensor)}
    return {name: value.detach().double().cpu().numpy() for name, value in found.items()}


def of_logits(output: Any, ids: torch.Tensor) -> np.ndarray:
    """[b, t - 1] log-probability of each next token, as a loss makes it of logits."""
    with torch.no_grad():
        log_p = torch.log_softmax(output.logits.detach()[:, :-1], -1)
        return np.asarray(log_p.gather(-1, ids[:, 1:, None])[..., 0].double().cpu().numpy())


def save(heard: list[Heard], file: Path) -> None:
    """Write what one rank has heard."""
    tables = {
        f"{number} {name}": table
        for number, one in enumerate(heard)
        for name, table in [("mask", one.mask), *((f"told {name}", table) for name, table in one.told.items())]
    }
    with file.open("wb") as out:
        # numpy before 2.1 takes allow_pickle= for one more table.
        np.savez(out, **tables)  # type: ignore[arg-type]


def load(file: Path) -> list[Heard]:
    """Read it again."""
    heard: dict[int, Heard] = {}
    with np.load(file) as tables:
        for key, table in tables.items():
            number, kind, *name = key.split(" ")
            one = heard.setdefault(int(number), Heard(np.zeros(0), {}))
            if kind == "mask":
                one.mask = table
            else:
                one.told[" ".join(name)] = table
    return list(heard.values())
