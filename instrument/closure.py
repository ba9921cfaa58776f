"""What the tokens contributed to a gradient, added up as it arrives, next to the gradient that the parameter holds.

At the last norm each element is compared; where it does not train, a sum of rows of the last matrix that does. For any
matrix W whose output is W x, <W, dW> = sum_n <W x_n, g_n>: one number
for the head, one for each row of the embedding; no copy of a matrix is made.

Letters: n positions, h hidden size.
"""

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from .after_record import Addends
from .last_linear import LastLinear
from .last_norm import LastNorm
from .norms import own_part
from .reach import Guard
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
        self._held: Tensor | None = None
        self._left: Tensor | None = None

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
        product = (rows * gradient.detach()).flatten(0, -2)
        kept = ids.flatten() != (-1 if self._embedding.padding_idx is None else self._embedding.padding_idx)
        share = Share(product.sum(-1, dtype=torch.float64)[kept], product.abs().sum(-1, dtype=torch.float64)[kept], 1)
        self._rows.append((ids.flatten()[kept], share))

    def arrived(self, hidden_bth: Tensor, gradient_bth: Tensor, weight_bt: Any) -> None:
        """Add what the positions of one forward contribute; weight_bt is what was read of each target."""
        hidden_nh, gradient_nh = hidden_bth.flatten(0, 1), gradient_bth.flatten(0, 1)
        if self._trains_norm():
            self._add(*self.norm.share(hidden_nh, gradient_nh), hidden_nh.shape[0])
        if self.head is not None and id(self.head) in self._trains:
            value = (hidden_nh * gradient_nh).sum(dtype=torch.float64)
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
        place = self._place()[1]
        self._held = None if place is None else place.gradient()
        self._backward += 1

    def drop(self) -> None:
        """Forget what came in backwards that are over."""
        self._parts = {number: shares for number, shares in self._parts.items() if number == self._backward}
        self._head, self._rows, self._held, self._left = [], [], None, None

    def bent(self, factor: float, bound: float) -> float:
        """|gradient now - due| / |due| at the norm or last matrix, due = factor * gradient after the last backward.

        Where it was clipped by value, each element of what is due is: that of a sum of rows is not known.
        """
        where, place = self._place()
        now = None if place is None else place.gradient()
        if now is None or self._held is None or not bool(self._held.any()):
            return float("nan")
        due = factor * self._held
        if bound == bound:
            if where != "last norm":
                return float("nan")
            due = due.clamp(-bound, bound)
        return float((now - due).norm() / due.norm())

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
            parts = [torch.stack([s.value for s in shares]).sum(0) for shares in self._parts.values()]
            every = [share for shares in self._parts.values() for share in shares]
            size, terms = torch.stack([share.size for share in every]).sum(0), sum(share.terms for share in every)
            left = torch.zeros(0) if self._left is None else self._left
            name = names.get(id(place.module.weight), "")
            found.append(addends(where, name, self._held, torch.stack(parts), size, terms, left=left))
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
            measured = inner(part, own_part(head.weight.detach())) / by
            shares = [*self._head, *(Share(s.value.sum(), s.size.sum(), s.value.numel()) for _, s in self._rows * tied)]
            value, size = (
                torch.stack(column).sum() for column in ([s.value for s in shares], [s.size for s in shares])
            )
            terms = sum(s.terms for s in shares) + head.out_features
            where, name = "tied embedding" if tied else "head", names.get(id(head.weight), "")
            found.append(addends(where, name, measured[None], value[None, None], size[None], terms))
        by = 1.0 if embedding is None else factor.get(id(embedding.weight), 1.0)
        part = None if embedding is None else part_of_gradient(embedding.weight, self._layouts)
        if self._rows and by and not (tied or self._tied) and part is not None:
            ran = torch.cat([ids for ids, _ in self._rows])
            ids, measured = self._by_row(embedding, part, ran.unique())
            place, measured = torch.searchsorted(ids, ran), measured / by
            sums = [torch.cat(column) for column in ([s.value for _, s in self._rows], [s.size for _, s in self._rows])]
            value, size = (torch.zeros(ids.shape, dtype=x.dtype, device=x.device).index_add(0, place, x) for x in sums)
            name, terms = names.get(id(embedding.weight), ""), place.numel() + embedding.embedding_dim
            found.append(addends("embedding rows", name, measured, value[None], size, terms, ids))
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


def inner(one: Tensor, other: Tensor) -> Tensor:
    """<one, other> of two tensors in float64, some rows at a time: all products at once would take two heads' room."""
    rows = max(1, 2**20 // max(1, one[:1].numel()))
    return torch.stack([(a * b).sum(dtype=torch.float64) for a, b in zip(one.split(rows), other.split(rows))]).sum()


def addends(
    place: str,
    name: str,
    held: Tensor,
    parts: Tensor,
    size: Tensor,
    terms: int,
    ids: Tensor | None = None,
    left: Tensor | None = None,
) -> Addends:
    """As numbers."""
    none = torch.zeros(0)
    ids, left = (none.long() if ids is None else ids), (none if left is None else left)
    read = [x.double().cpu().numpy() for x in (held, parts, size, left)]
    return Addends(place, name, ids.cpu().numpy(), read[0], read[1], read[2], terms, read[3])


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
