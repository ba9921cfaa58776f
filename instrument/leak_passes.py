"""One backward pass with a subset of the labels, read at the output of the input embeddings, and no trace of it left.

Letters: b rows, t tokens, h hidden size.
"""

import random
from types import TracebackType
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from .capture import Replay, refuse_compiled
from .forward import token_ids
from .leak_loss import IGNORED, Loss, named, own_loss, read_batch


class Passes:
    """The model's own loss for a subset of the labels, differentiated as far as the embeddings.

    The model stays in the mode it is in, since batch statistics and dropout belong to what is trained; every pass
    starts from the same random state. No parameter gets a gradient. On exit everything is as it was: gradients,
    requires_grad, buffers, hooks, random states.

    Args:
        model: gives a loss for labels, or logits.
        batch: its arguments, labels [b, t] among them.
        loss: another loss, from the model and the batch.

    Raises:
        ValueError: a model or a batch that cannot be measured so.
    """

    def __init__(self, model: nn.Module, batch: dict[str, Any], loss: Loss | None = None) -> None:
        if not isinstance(model, nn.Module):
            raise ValueError(f"model is {model!r}: give a torch.nn.Module, the model that is trained")
        refuse_compiled(model)
        # The reducer of a data-parallel wrapper counts backward passes.
        while isinstance(model, (nn.DataParallel, nn.parallel.DistributedDataParallel)):
            model = model.module
        self.model, self.loss = model, own_loss if loss is None else loss
        self.batch, self.labels_bt = read_batch(batch)
        self.count = 0
        self.balance = False
        self._leaves: list[Tensor] = []
        self._hooks: list[Any] = []

    def __enter__(self) -> "Passes":
        modules = list(self.model.modules())
        self._replay = Replay()
        self._replay.__enter__()
        self._asked = [(p, p.requires_grad) for p in self.model.parameters()]
        self._buffers = [(m, dict(m._buffers)) for m in modules if m._buffers]
        self._values = [(v, v.clone()) for _, held in self._buffers for v in held.values() if v is not None]
        cuda = {p.device.index for p in self.model.parameters() if p.device.type == "cuda"}
        self._states = (torch.get_rng_state(), {d: torch.cuda.get_rng_state(d) for d in cuda})
        self._others = (random.getstate(), np.random.get_state())
        for parameter, _ in self._asked:
            parameter.requires_grad_(False)
        inputs = getattr(self.model, "get_input_embeddings", lambda: None)()
        readable = [m for m in modules if isinstance(m, nn.Embedding) or m is inputs]
        self._hooks = [m.register_forward_hook(self._take) for m in readable]
        self._hooks.append(self.model.register_forward_hook(self._note_balance))
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        for hook in self._hooks:
            hook.remove()
        for parameter, asked in self._asked:
            parameter.requires_grad_(asked)
        self._restore_state()
        self._leaves.clear()
        self._replay.__exit__()

    def gradient(self, labelled_bt: Tensor) -> Tensor:
        """[b, t] largest gradient of the loss of the marked labels at any entry of each token's embedding.

        Raises:
            ValueError: no embedding of the batch's tokens was seen, no loss came, or something is not finite.
        """
        labels_bt = torch.where(labelled_bt.to(self.labels_bt.device), self.labels_bt, IGNORED)
        batch = {**self.batch, "labels": labels_bt}
        self._leaves = []
        given = batch.get("inputs_embeds")
        if given is not None:
            batch["inputs_embeds"] = self._leaf(given)
        self._restore_state()
        self.count += 1
        with torch.enable_grad():
            loss = self.loss(self.model, batch)
            if not (isinstance(loss, Tensor) and loss.numel() == 1):
                came = f"Tensor of shape {list(loss.shape)}" if isinstance(loss, Tensor) else type(loss).__name__
                raise ValueError(f"the loss is {came}, not one number: give loss=(model, batch) -> scalar")
            if not self._leaves:
                raise ValueError(
                    f"{type(self.model).__name__} looked up no embedding of the batch's input_ids: a leak is read at "
                    "the output of an nn.Embedding, or of get_input_embeddings(), or at inputs_embeds in the batch"
                )
            if not torch.isfinite(loss):
                raise ValueError(
                    f"the loss of a part of the labels is {float(loss.detach())}: nothing can be read from it"
                )
            if loss.requires_grad:
                loss.sum().backward()
        read = [leaf.grad.detach().abs().amax(-1) for leaf in self._leaves if leaf.grad is not None]
        self._leaves = []
        largest_bt = torch.stack(
            [torch.zeros(labels_bt.shape, dtype=torch.float64), *(g.double().cpu() for g in read)]
        ).amax(0)
        if not torch.isfinite(largest_bt).all():
            b, t = (~torch.isfinite(largest_bt)).nonzero()[0].tolist()
            raise ValueError(f"the gradient at row {b}, token {t} is not finite: nothing can be read from it")
        return largest_bt

    def _take(self, module: nn.Module, args: tuple[Any, ...], output: Any) -> Any:
        """Cut the graph at an embedding of the batch's tokens."""
        ids = token_ids(self.batch)
        same = ids is not None and args and isinstance(args[0], Tensor) and args[0].shape == ids.shape
        if not same or not isinstance(output, Tensor) or not torch.equal(args[0], ids.to(args[0].device)):
            return None
        if output.shape[:-1] != ids.shape:
            # Learned positions are an embedding too, and some are called with the ids for their shape alone.
            return None
        return self._leaf(output)

    def _note_balance(self, module: nn.Module, args: tuple[Any, ...], output: Any) -> None:
        self.balance |= isinstance(named(output, "aux_loss"), Tensor)

    def _leaf(self, output: Tensor) -> Tensor:
        leaf = output.detach().requires_grad_(True)
        self._leaves.append(leaf)
        # Of a copy, since some models scale their embeddings in place, which autograd allows of no leaf.
        return leaf.clone()

    def _restore_state(self) -> None:
        """Buffers and random states as they were at the start."""
        with torch.no_grad():
            for module, held in self._buffers:
                module._buffers.update(held)
            for value, kept in self._values:
                value.copy_(kept)
        torch.set_rng_state(self._states[0])
        for device, state in self._states[1].items():
            torch.cuda.set_rng_state(state, device)
        random.setstate(self._others[0])
        np.random.set_state(self._others[1])
