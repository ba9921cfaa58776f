"""The labels of a batch, and the loss that a model gives for them.

Letters: b rows, t tokens, v vocabulary.
"""

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
from torch import Tensor, nn

from .forward import token_ids

IGNORED = -100
Loss = Callable[[nn.Module, dict[str, Any]], Tensor]


class NothingToSay(ValueError):
    """A batch shows neither a leak nor that there is none; another one may."""


class Blind(NothingToSay):
    """A batch was searched, and a leak in it could not have been seen."""


def read_batch(batch: Any) -> tuple[dict[str, Any], Tensor]:
    """The batch as a dict, and its labels.

    Raises:
        ValueError: no mapping, arrays instead of tensors, no labels, no tokens, or labels of another shape than the
            tokens.
        NothingToSay: no label.
    """
    if not hasattr(batch, "keys"):
        raise ValueError(f"batch is a {type(batch).__name__}: give the model's arguments by name, as a dict")
    batch = {name: batch[name] for name in batch.keys()}
    named_so = ("input_ids", "inputs_embeds", "labels", "position_ids")
    for name, value in batch.items():
        if isinstance(value, np.ndarray) or (name in named_so and not isinstance(value, (Tensor, type(None)))):
            raise ValueError(f"{name} is a {type(value).__name__}: give a tensor, as torch.as_tensor({name}) makes one")
    labels, embeds, ids = batch.get("labels"), batch.get("inputs_embeds"), token_ids(batch)
    tokens = embeds if embeds is not None else ids
    if not (isinstance(labels, Tensor) and labels.dim() == 2):
        raise ValueError(f"the batch holds {sorted(batch)} and no labels [b, t]: a leak is read from targets' losses")
    if tokens is None or tokens.shape[:2] != labels.shape:
        came = "nothing" if tokens is None else f"shape {list(tokens.shape)}"
        raise ValueError(f"labels is {list(labels.shape)}, the tokens are {came}: give one label per token")
    if not (labels != IGNORED).any():
        raise NothingToSay(f"all labels are {IGNORED}: without a target there is no loss that could leak")
    return batch, labels


def own_loss(model: nn.Module, batch: dict[str, Any]) -> Tensor:
    """The model's own loss for the labels; where it gives none, the cross-entropy of its logits on the next token.

    Raises:
        ValueError: the model returns neither.
    """
    parameters = inspect.signature(model.forward).parameters.values()
    takes_labels = any(p.name == "labels" or p.kind is p.VAR_KEYWORD for p in parameters)
    output = model(**(batch if takes_labels else {k: v for k, v in batch.items() if k != "labels"}))
    loss, logits = named(output, "loss"), named(output, "logits")
    if isinstance(loss, Tensor):
        return loss
    if isinstance(output, tuple) and output:
        output = output[0]
    if isinstance(output, Tensor):
        if output.numel() == 1:
            return output
        logits = output
    if not (isinstance(logits, Tensor) and logits.dim() == 3):
        raise ValueError(
            f"{type(model).__name__} returned {type(output).__name__} with neither a loss nor logits [b, t, v]: give "
            "loss=(model, batch) -> scalar"
        )
    return nn.functional.cross_entropy(
        logits[:, :-1].transpose(1, 2), batch["labels"][:, 1:].to(logits.device), ignore_index=IGNORED
    )


def named(output: Any, name: str) -> Any:
    """What the output calls so, or None."""
    return output.get(name) if isinstance(output, dict) else getattr(output, name, None)
