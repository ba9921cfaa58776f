"""One backward pass with a subset of the labels, read at the output of the input embeddings, and no trace of it left.

Letters: b rows, t tokens, h hidden size.
"""

from types import TracebackType
from typing import Any

import torch
from torch import Tensor, nn

from .capture import Replay
from .forward import token_ids
from .leak_loss import IGNORED, Loss, named, own_loss, read_batch
from .leak_state import State
from .refusals import refuse_compiled


class Passes:
    """The model's own loss for a subset of the labels, differentiated as far as the embeddings.

    The model stays in the mode it is in, since batch statistics and dropout belong to what is trained; every pass
    starts from the same random state. No parameter gets a gradient. On exit everything is as it was: gradients,
    requires_grad, buffers, attributes, hooks, random states.

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
        if loss is not None and not callable(loss):
            raise ValueError(f"loss={loss!r}: give a function, loss(model, batch) -> scalar, or leave it out")
        refuse_compiled(model)
        # The reducer of a data-parallel wrapper counts backward passes.
        while isinstance(model, (nn.DataParallel, nn.parallel.DistributedDataParallel)):
            model = model.module
        self.model, self.loss = model, own_loss if loss is None else loss
        self.batch, self.labels_bt = read_batch(batch)
        self.count = 0
        self.value = 0.0
        self.balance = False
        self._ids: Any = None
        self._leaves: list[Tensor] = []
        self._hooks: list[Any] = []

    def __enter__(self) -> "Passes":
        # Whatever can fail comes first: what is half entered is never left.
        inputs = input_embeddings(self.model)
        readable = [m for m in self.model.modules() if isinstance(m, nn.Embedding) or m is inputs]
        self._asked = [(p, p.requires_grad) for p in self.model.parameters()]
        self._state = State(self.model)
        self._replay = Replay()
        self._replay.__enter__()
        for parameter, _ in self._asked:
            parameter.requires_grad_(False)
        self._hooks = [m.register_forward_hook(self._take) for m in readable]
        self._hooks.append(self.model.register_forward_hook(self._note_balance))
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        for hook in self._hooks:
            hook.remove()
        for parameter, asked in self._asked:
            parameter.requires_grad_(asked)
        self._state.restore()
        self._leaves.clear()
        self._replay.__exit__()

    def gradient(self, labelled_bt: Tensor) -> Tensor:
        """[b, t] largest gradient of the loss of the marked labels at any entry of each token's embedding.

        Raises:
            ValueError: no embedding of the batch's tokens was seen, no loss came, or something is not finite.
        """
        loss = self._forward(labelled_bt, self.batch)
        self.value = float(loss.detach())
        if loss.requires_grad:
            with torch.enable_grad():
                loss.sum().backward()
        read = [leaf.grad.detach().abs().amax(-1) for leaf in self._leaves if leaf.grad is not None]
        self._leaves = []
        largest_bt = torch.stack(
            [torch.zeros(labelled_bt.shape, dtype=torch.float64), *(g.double().cpu() for g in read)]
        ).amax(0)
        if not torch.isfinite(largest_bt).all():
            b, t = (~torch.isfinite(largest_bt)).nonzero()[0].tolist()
            raise ValueError(f"the gradient at row {b}, token {t} is not finite: nothing can be read from it")
        return largest_bt

    def loss_with(self, labelled_bt: Tensor, ids_bt: Tensor) -> float:
        """The loss of the marked labels for other tokens, run as `gradient` runs it, so that the same bits come out."""
        ids = token_ids(self.batch)
        # Labels may be the same tensor.
        name = next(name for name, value in self.batch.items() if value is ids and name != "labels")
        loss = self._forward(labelled_bt, {**self.batch, name: ids_bt.to(ids.device)})
        self._leaves = []
        return float(loss.detach())

    def _forward(self, labelled_bt: Tensor, batch: dict[str, Any]) -> Tensor:
        self._ids = token_ids(batch)
        labels_bt = torch.where(labelled_bt.to(self.labels_bt.device), self.labels_bt, IGNORED)
        batch = {**batch, "labels": labels_bt}
        self._leaves = []
        given = batch.get("inputs_embeds")
        if given is not None:
            batch["inputs_embeds"] = self._leaf(given)
        self._state.restore()
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
            raise ValueError(f"the loss of a part of the labels is {float(loss.detach())}: nothing can be read from it")
        return loss

    def _take(self, module: nn.Module, args: tuple[Any, ...], output: Any) -> Any:
        """Cut the graph at an embedding of the batch's tokens."""
        ids = self._ids
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


def input_embeddings(model: nn.Module) -> nn.Module | None:
    """What the model calls its input embeddings; None where it names none, as some of transformers' refuse to."""
    try:
        inputs: nn.Module | None = getattr(model, "get_input_embeddings", lambda: None)()
    except (AttributeError, NotImplementedError):
        return None
    return inputs
