"""What the tokens contributed to a gradient, added up as it arrives, next to the gradient that the parameter holds.

At the last norm each element is compared; where it does not train, a sum of rows of the last matrix that does. For any
matrix W whose output is W x, <W, dW> = sum_n <W x_n, g_n>: one number
for the head, one for each row of the embedding; no copy of a matrix is made.

Letters: n positions, h hidden size.
"""

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from .after_record import Addends
from .last_linear import LastLinear
from .last_norm import LastNorm
from .norms import in_numbers, own_part
from .reach import Guard
from .record import Floats, Ints
from .shards import Layout, part_of_gradient


class Share(NamedTuple):
    """Contributions to one parameter: values, their absolute values, and how many terms were added up."""

    value: Tensor
    size: Tensor
    terms: int


class Closure:
    """Sums of one window. `head` is told once it is known.

    Args:
        layouts: of the parameters that this rank holds a part of, by identity.
    """

    def __init__(self, model: Any, layouts: Mapping[int, Layout]) -> None:
        self.norm = LastNorm(model, layouts)
        self._layouts = layouts
        self.head: nn.Linear | None = None
        self.largest = torch.zeros(())
        self._embedding = input_embedding(model)
        self._tied = tied(model, self._embedding)
        self._model = model
        self._hook: Any = None
        # Asked now: under FSDP1 what stands in the place of a frozen parameter asks for a gradient too.
        self._trains = {id(m) for m in model.modules() for name, p in own(m) if name == "weight" and p.requires_grad}
        frozen = not any(is_vector(m, name, p) and p.requires_grad for m in model.modules() for name, p in own(m))
        self._linear = LastLinear(model, self._add, layouts) if frozen else None
        self._parts: dict[int, list[Share]] = {}
        self._backward = 0
        self._head: list[Share] = []
        self._rows: list[tuple[Tensor, Share]] = []
        self._held: Floats | None = None
        self._left: Floats | None = None

    def attach(self, guard: Guard) -> None:
        """Set the hooks."""
        self.norm.attach()
        if self._linear is not None:
            self._linear.attach(guard)
        if self._embedding is not None:
            self._hook = self._embedding.register_forward_hook(lambda m, args, out: guard(self._arm, guard, args, out))

    def detach(self) -> None:
        """Take them off."""
        self.norm.detach()
        if self._linear is not None:
            self._linear.detach()
        if self._hook is not None:
            self._hook.remove()

    def _arm(self, guard: Guard, args: tuple[Any, ...], output: Any) -> None:
        if (
            id(self._embedding) in self._trains
            and torch.is_grad_enabled()
            and isinstance(output, Tensor)
            and output.requires_grad
            and args
        ):
            ids, rows = args[0].detach(), output.detach()
            output.register_hook(lambda gradient: guard(self._embedded, ids, rows, gradient))

    def _embedded(self, ids: Tensor, rows: Tensor, gradient: Tensor) -> None:
        product, ids = (rows * gradient.detach()).flatten(0, -2), ids.flatten()
        value = product.sum(-1, dtype=torch.float64)
        size = product.abs_().sum(-1, dtype=torch.float64)
        if self._embedding.padding_idx is not None:
            kept = ids != self._embedding.padding_idx
            ids, value, size = ids[kept], value[kept], size[kept]
        self._rows.append((ids, Share(value, size, 1)))

    def arrived(self, hidden_bth: Tensor, gradient_bth: Tensor, weight_bt: Any) -> None:
        """Add what the positions of one forward contribute; weight_bt is what was read of each target."""
        hidden_nh, gradient_nh = hidden_bth.flatten(0, 1), gradient_bth.flatten(0, 1)
        norm, head = self._trains_norm(), self.head is not None and id(self.head) in self._trains
        if not (norm or head):
            return
        total_h, size_h = products(hidden_nh, gradient_nh)
        if norm:
            self._add(*self.norm.share(total_h, size_h, gradient_nh), hidden_nh.shape[0])
        if head:
            value = total_h.sum()
            # With columns J_v, sum_v |dz_nv| |J_v| |h_n| is at most 2 w_n max_v |J_v| |h_n|: dz_n = w_n (p_n - onehot).
            weight_n = torch.as_tensor(weight_bt, device=hidden_nh.device).flatten().nan_to_num().abs()
            size = 2 * self.largest.to(value.device) * (weight_n * hidden_nh.norm(dim=-1).double()).sum()
            self._head.append(Share(value, size, hidden_nh.shape[0]))

    def _add(self, value: Tensor, size: Tensor, terms: int) -> None:
        self._parts.setdefault(self._backward, []).append(Share(value, size, terms))

    def _trains_norm(self) -> bool:
        return not self.norm.why and id(self.norm.module) in self._trains

    def _place(self) -> tuple[str, Any]:
        """Where each element is compared, and what reads the gradient there."""
        if self._trains_norm():
            return "last norm", self.norm
        if self._linear is not None and self._linear.module is not None:
            return "last matrix", self._linear
        return "", None

    def ended(self) -> None:
        """Copy the gradient there at the end of a backward."""
        self._held = self._gradient()
        self._backward += 1

    def _gradient(self) -> Floats | None:
        """A copy of what the gradient there is now."""
        place = self._place()[1]
        gradient = None if place is None else place.gradient()
        return None if gradient is None else gradient.cpu().numpy()

    def drop(self) -> None:
        """Forget what came in backwards that are over."""
        self._parts = {number: shares for number, shares in self._parts.items() if number == self._backward}
        self._head, self._rows, self._held, self._left = [], [], None, None

    def bent(self, factor: float, bound: float) -> float:
        """|gradient now - due| / |due| at the norm or last matrix, due = factor * gradient after the last backward.

        Where it was clipped by value, each element of what is due is: that of a sum of rows is not known.
        """
        now = self._gradient()
        if now is None or self._held is None or not self._held.any():
            return float("nan")
        due = factor * self._held
        if bound == bound:
            if not self._trains_norm():
                return float("nan")
            due = due.clip(-bound, bound)
        return float(np.linalg.norm(now - due) / np.linalg.norm(due))

    def read(self, names: dict[int, str], factor: dict[int, float]) -> tuple[list[Addends], tuple[str, ...]]:
        """What was added up, next to the gradients that are held; and start anew.

        Args:
            names: of parameters, by identity.
            factor: by what each gradient was multiplied since the last backward.

        Returns:
            What is to be compared, and what cannot be.
        """
        found, why = [], []
        where, place = self._place()
        if self._parts and self._held is not None:
            parts = [in_all([share.value for share in shares]) for shares in self._parts.values()]
            every = [share for shares in self._parts.values() for share in shares]
            size, terms = in_all([share.size for share in every]), sum(share.terms for share in every)
            left, name = np.zeros(0) if self._left is None else self._left, names.get(id(place.module.weight), "")
            found.append(Addends(where, name, no_ids(), self._held, np.array(parts), size, terms, left))
            self._left = self._held
        else:
            why.append(f"last norm: {self.norm.why or 'no gradient came to its weight'}")
        shared = self._shared()
        if shared:
            why.append("head: its matrix is also another module's, whose share of the gradient is not seen")
        found += self._matrices(names, factor, shared)
        self._parts, self._head, self._rows, self._held = {}, [], [], None
        return found, tuple(why)

    def _shared(self) -> bool:
        """Whether a module other than the known embedding holds the head's matrix too."""
        if self.head is None or part_of_gradient(self.head.weight, self._layouts) is None:
            return False
        holders = (m for m in self._model.modules() if m._parameters.get("weight") is self.head.weight)
        return any(m is not self.head and m is not self._embedding for m in holders)

    def _matrices(self, names: dict[int, str], factor: dict[int, float], shared: bool) -> list[Addends]:
        head, embedding, found = self.head, self._embedding, []
        tied = head is not None and embedding is not None and head.weight is embedding.weight
        by = 1.0 if head is None else factor.get(id(head.weight), 1.0)
        part = None if head is None else part_of_gradient(head.weight, self._layouts)
        if self._head and by and head is not None and part is not None and not shared:
            shares = [*self._head, *(Share(s.value.sum(), s.size.sum(), s.value.numel()) for _, s in self._rows * tied)]
            taken = [inner(part, own_part(head.weight.detach())), *(s.value for s in shares), *(s.size for s in shares)]
            measured, value, size = np.split(in_numbers(taken), [1, 1 + len(shares)])
            terms = sum(s.terms for s in shares) + head.out_features
            where, name = "tied embedding" if tied else "head", names.get(id(head.weight), "")
            value, size = value.sum(keepdims=True)[None], size.sum(keepdims=True)
            found.append(Addends(where, name, no_ids(), measured / by, value, size, terms, np.zeros(0)))
        by = 1.0 if embedding is None else factor.get(id(embedding.weight), 1.0)
        part = None if embedding is None else part_of_gradient(embedding.weight, self._layouts)
        if self._rows and by and not (tied or self._tied) and part is not None:
            ran = torch.cat([ids for ids, _ in self._rows])
            ids, measured = (x.cpu().numpy() for x in self._by_row(embedding, part, ran.unique()))
            place = np.searchsorted(ids, ran.cpu().numpy())
            sums = [torch.cat(column) for column in ([s.value for _, s in self._rows], [s.size for _, s in self._rows])]
            each: list[Any] = [np.bincount(place, x.cpu().numpy(), ids.size) for x in sums]
            name, terms = names.get(id(embedding.weight), ""), place.size + embedding.embedding_dim
            found.append(
                Addends("embedding rows", name, ids, measured / by, each[0][None], each[1], terms, np.zeros(0))
            )
        return found

    def _by_row(self, embedding: Any, gradient: Tensor, ids: Tensor) -> tuple[Tensor, Tensor]:
        """Rows, and <W, dW> of each: those of these ids, and all of this rank's part where it holds no more."""
        layout = self._layouts.get(id(embedding.weight))
        weight = own_part(embedding.weight.detach())
        if layout is None:
            return ids, (gradient[ids] * weight[ids]).sum(-1, dtype=torch.float64)
        # The part may begin and end within a row.
        width = layout.shape[1]
        first, within = divmod(layout.start, width)
        product = nn.functional.pad((gradient * weight).flatten(), (within, -(within + gradient.numel()) % width))
        found = product.view(-1, width).sum(-1, dtype=torch.float64)
        there = found.nonzero()[:, 0]
        every = torch.cat([ids, there + first]).unique()
        whole = found.new_zeros(every.shape)
        whole[torch.searchsorted(every, there + first)] = found[there]
        return every, whole


def products(hidden_nh: Tensor, gradient_nh: Tensor) -> tuple[Tensor, Tensor]:
    """[h] sum over positions of hidden state times gradient, and of its absolute values, in float64."""
    work = torch.promote_types(hidden_nh.dtype, torch.float32)
    product_nh = hidden_nh.to(work) * gradient_nh.to(work)
    total_h = product_nh.sum(0, dtype=torch.float64)
    return total_h, product_nh.abs_().sum(0, dtype=torch.float64)


def inner(one: Tensor, other: Tensor) -> Tensor:
    """<one, other> of two tensors in float64, some rows at a time: all products at once would take two heads' room."""
    rows = max(1, 2**20 // max(1, one[:1].numel()))
    return torch.stack([(a * b).sum(dtype=torch.float64) for a, b in zip(one.split(rows), other.split(rows))]).sum()


def no_ids() -> Ints:
    """Where nothing is told by rows."""
    return np.zeros(0, dtype=np.int64)


def in_all(shares: list[Tensor]) -> Floats:
    """Their sum, as numbers."""
    found: Floats = np.sum([share.cpu().numpy() for share in shares], 0)
    return found


def own(module: nn.Module) -> Iterable[tuple[str, nn.Parameter]]:
    """The parameters that a module holds itself."""
    return module.named_parameters(recurse=False)


def is_vector(module: nn.Module, name: str, parameter: nn.Parameter) -> bool:
    """Whether a parameter is none of a matrix; a flat part of one has a single dimension too."""
    if getattr(parameter, "_fsdp_flattened", False):
        return name != "weight" or not isinstance(module, (nn.Linear, nn.Embedding))
    return parameter.dim() <= 1


def tied(model: Any, embedding: Any) -> bool:
    """Whether the head shares the embedding's matrix."""
    head = getattr(model, "get_output_embeddings", lambda: None)()
    return embedding is not None and getattr(head, "weight", None) is embedding.weight


def input_embedding(model: Any) -> Any:
    """The embedding of the token ids, when its rows can be told apart; None otherwise."""
    try:
        found = model.get_input_embeddings()
    except (AttributeError, NotImplementedError):
        return None
    inside = [m for m in found.modules() if isinstance(m, nn.Embedding)] if isinstance(found, nn.Module) else []
    trains = [m for m in inside if m.weight.requires_grad] or inside
    plain = [m for m in trains if not (m.sparse or m.scale_grad_by_freq or m.max_norm is not None)]
    return plain[0] if plain else None
