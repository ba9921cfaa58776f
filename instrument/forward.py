"""What one run of the model was about: its tokens, its targets, its padding, its hidden states."""

import inspect
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn


@dataclass(frozen=True)
class Forward:
    """One run of the model with gradients on.

    Attributes:
        index: 0 for the first one of the capture.
        input_ids: [b, t] token ids that the model was given.
        labels: [b, t] target of each position in place (already shifted), or None when no labels passed through the
            model, as when the loss is computed outside of it.
        attention_mask: [b, t] 1 on tokens and 0 on padding, or None when the model was given none of this shape.
        autocast: dtype in which autocast ran the model, or None outside of autocast.
        boundaries: of the arguments that say where a document begins in a row, those that were given.
    """

    index: int
    input_ids: Tensor
    labels: Tensor | None
    attention_mask: Tensor | None
    autocast: torch.dtype | None
    boundaries: dict[str, Tensor] = field(default_factory=dict)


def named_arguments(module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
    """Give the positional arguments of a module call their names."""
    if not args:
        return kwargs
    names = list(inspect.signature(type(module).forward).parameters)[1:]
    return {**dict(zip(names, args)), **kwargs}


def token_ids(batch: dict[str, Any]) -> Any:
    """input_ids, or else the first [batch, tokens] tensor of whole numbers without another well-known name."""
    if batch.get("input_ids") is not None:
        return batch["input_ids"]
    other = ("labels", "shift_labels", "targets", "attention_mask", "position_ids", "token_type_ids")
    whole = (torch.int64, torch.int32)
    ids = [
        v for k, v in batch.items() if k not in other and isinstance(v, Tensor) and v.dim() == 2 and v.dtype in whole
    ]
    return ids[0] if ids else None


def hidden_states(output: Any) -> Tensor:
    """Find the hidden states in what a module returned: the tensor itself, `last_hidden_state`, or the first element.

    Raises:
        ValueError: there is no such tensor of shape [b, t, h].
    """
    hidden = getattr(output, "last_hidden_state", None)
    if hidden is None:
        hidden = output[0] if isinstance(output, (tuple, list)) else output
    if not (isinstance(hidden, Tensor) and hidden.dim() == 3):
        came = f"a tensor of shape {list(hidden.shape)}" if isinstance(hidden, Tensor) else type(hidden).__name__
        raise ValueError(f"the read point returned {came}: it must return hidden states of shape [batch, tokens, size]")
    return hidden


def without_graph(output: Any, hidden: Tensor) -> Any:
    """The same output with nothing but the detached hidden states in it."""
    if hasattr(output, "last_hidden_state"):
        return type(output)(last_hidden_state=hidden.detach())
    return (hidden.detach(),) if isinstance(output, (tuple, list)) else hidden.detach()


def describe(batch: dict[str, Any], hidden: Tensor, index: int, where: str) -> Forward:
    """Note which tokens, targets and padding a forward was about.

    Raises:
        ValueError: no token ids, or ids, labels and hidden states that do not belong together.
    """
    input_ids, labels = token_ids(batch), batch.get("labels")
    # What is called targets stands where it is scored, as shift_labels does; labels stand where they are read.
    shifted = next((batch[name] for name in ("shift_labels", "targets") if batch.get(name) is not None), None)
    if input_ids is None:
        given = sorted(name for name in batch if batch[name] is not None)
        raise ValueError(
            f"the model was called with {given} and none of it is a [batch, tokens] tensor of ids: "
            "pass input_ids, so that a weight can be given to a token"
        )
    for name, value in (("input_ids", input_ids), ("labels", labels), ("shift_labels", shifted)):
        if not (value is None or isinstance(value, Tensor)):
            raise ValueError(f"{name} is a {type(value).__name__}: pass a tensor of shape [batch, tokens]")
    if input_ids.shape != hidden.shape[:2]:
        raise ValueError(
            f"input_ids is {list(input_ids.shape)} but {where} gave hidden states of shape {list(hidden.shape)}: "
            "the read point must keep one position per token"
        )
    targets = labels if shifted is None else shifted
    if targets is not None and targets.shape != input_ids.shape:
        raise ValueError(
            f"labels is {list(targets.shape)} but input_ids is {list(input_ids.shape)}: "
            "pass one label per token, -100 where it is not scored"
        )
    if shifted is None and labels is not None:
        shifted = torch.nn.functional.pad(labels, (0, 1), value=-100)[:, 1:]
    mask = batch.get("attention_mask")
    flat = isinstance(mask, Tensor) and mask.shape == input_ids.shape
    kind = hidden.device.type
    autocast = torch.get_autocast_dtype(kind) if torch.is_autocast_enabled(kind) else None
    targets = None if shifted is None else shifted.detach()
    told = {name: batch.get(name) for name in ("position_ids", "cu_seq_lens_q", "seq_idx")}
    boundaries = {name: value.detach() for name, value in told.items() if isinstance(value, Tensor)}
    return Forward(index, input_ids.detach(), targets, mask if flat else None, autocast, boundaries)
