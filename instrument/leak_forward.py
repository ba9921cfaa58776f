"""Change the tokens of foreign sequences, and see whether a loss moves: what gradient does not follow shows so.

Gradient stops at detached values, at choices (top-k, argmax, sampling) and at whatever is computed from token ids; the
loss itself does not. The groups are those of the backward search: one is labelled, every other sequence's tokens are
changed, and on a right stack the loss is the same bit for bit, since each row of each product is computed from the same
numbers in the same order. Only products whose number of rows follows the tokens, as those of experts do, may round
otherwise.

Letters: b rows, t tokens, n sequences; i whose loss, j whose tokens.
"""

from typing import Any

import torch
from torch import Tensor, nn

from .forward import token_ids
from .leak_record import Change, Changes
from .leak_search import Search


def search_changes(search: Search) -> Changes:
    """One forward for each group of the search; where a loss moved, more to see who moves whom.

    A move is a leak from half of float32's digits on, sqrt(2^-24) of the loss or of 1, whichever is larger: parts of a
    float64 model round to float32 too. A smaller one is refused, since a small leak and rounding look the same there;
    so is any in a coarser arithmetic, where rounding alone may turn a choice of experts.

    Raises:
        ValueError: the batch has no ids that could be changed, or a loss moved and it cannot be told why.
    """
    single = torch.finfo(torch.float32).eps / 2
    unit = roundoff(search.passes.model)
    before = search.passes.count
    found: dict[int, Change] = {}
    small: list[Change] = []
    for number, (group, value) in enumerate(search.groups):
        moved = Moved(search, number)
        foreign = [j for j in range(len(search.spans)) if j not in group]
        if moved.loss(group, foreign) == value:
            continue
        change = moved.locate(group, foreign)
        if unit > single:
            raise ValueError(
                f"{change.told()}, in an arithmetic that rounds by {unit:.1e}: rounding may turn a choice of experts "
                "there, so give the model in float32 or float64 to tell"
            )
        if change.size > single**0.5 * max(1.0, abs(change.loss)):
            found[change.target] = change
        else:
            small.append(change)
    if small and not found:
        change = max(small, key=lambda change: change.size)
        raise ValueError(
            f"{change.told()}, which may be a small leak, or rounding where the shapes of products follow the tokens, "
            "as those of experts do: forward=True cannot tell them apart in this model, leave it out"
        )
    return Changes(tuple(found[i] for i in sorted(found)), search.passes.count - before)


class Moved:
    """Losses of some sequences while the tokens of others are changed.

    Args:
        search: the batch and its sequences.
        number: of the pass: each draws other tokens.
    """

    def __init__(self, search: Search, number: int) -> None:
        self.search = search
        ids = token_ids(search.passes.batch)
        if search.passes.batch.get("inputs_embeds") is not None or ids is None:
            raise ValueError("the batch holds inputs_embeds, and forward=True changes token ids: give input_ids")
        self.ids_bt = ids.cpu()
        self.other_bt = redrawn(self.ids_bt, search.number_bt >= 0, special_ids(search.passes.model), number)

    def loss(self, group: list[int], sources: list[int]) -> float:
        """The loss of a group while the tokens of the sources are changed."""
        ids_bt = torch.where(self.among(sources), self.other_bt, self.ids_bt)
        return self.search.passes.loss_with(self.search.labelled_bt & self.among(group), ids_bt)

    def among(self, numbers: list[int]) -> Tensor:
        """[b, t] whether a token belongs to one of these sequences."""
        return torch.isin(self.search.number_bt, torch.tensor(numbers, dtype=torch.long))

    def move(self, group: list[int], sources: list[int]) -> float:
        """How much their change moves the group's loss, times its targets: a mean hides one in many."""
        targets = int((self.search.labelled_bt & self.among(group)).sum())
        return abs(self.loss(group, sources) - self.loss(group, [])) * targets

    def locate(self, group: list[int], sources: list[int]) -> Change:
        """Halve both sides and keep the half that moves more; sources that move a loss together only are kept whole."""
        while len(group) > 1:
            group = max(halves(group), key=lambda half: self.move(half, sources))
        loss = self.loss(group, [])
        size = abs(self.loss(group, sources) - loss)
        while len(sources) > 1:
            sizes = [abs(self.loss(group, half) - loss) for half in halves(sources)]
            if max(sizes) < size / 2:
                break
            size = max(sizes)
            sources = halves(sources)[sizes.index(size)]
        return Change(group[0], tuple(sources), size, loss)


def halves(numbers: list[int]) -> tuple[list[int], list[int]]:
    """A list of at least two in two."""
    middle = len(numbers) // 2
    return numbers[:middle], numbers[middle:]


def redrawn(ids_bt: Tensor, inside_bt: Tensor, special: set[int], number: int) -> Tensor:
    """Every ordinary id of the sequences replaced by another one of them, as drawn for this number.

    Token by token, so that equal tokens may differ; from half of the ids, so that any, the largest too, may vanish.

    Raises:
        ValueError: fewer than two different ordinary ids.
    """
    ordinary = torch.tensor(sorted(set(ids_bt[inside_bt].tolist()) - special), dtype=ids_bt.dtype)
    n = ordinary.numel()
    if n < 2:
        raise ValueError(
            f"the sequences hold {n} different ids besides the special ones {sorted(special)}, and forward=True "
            "changes them: give a batch with two or more"
        )
    generator = torch.Generator().manual_seed(number)
    half = ordinary[torch.randperm(n, generator=generator)[: max(2, n // 2)]]
    place_bt = torch.randint(len(half), ids_bt.shape, generator=generator)
    next_bt = half[(place_bt + 1) % len(half)]
    other_bt = torch.where(half[place_bt] == ids_bt, next_bt, half[place_bt])
    return torch.where(torch.isin(ids_bt, ordinary), other_bt, ids_bt)


def special_ids(model: nn.Module) -> set[int]:
    """Ids that the model's config names, such as those of padding or of an image: they stay where they are."""
    held: dict[str, Any] = dict(vars(getattr(model, "config", object)))
    named = [value for name, value in held.items() if name.endswith(("token_id", "token_index"))]
    listed = [value if isinstance(value, (list, tuple)) else [value] for value in named]
    return {int(value) for values in listed for value in values if isinstance(value, int)}


def roundoff(model: nn.Module) -> float:
    """Of the coarsest arithmetic in play: of parameters, of autocast, of float32 products in fewer digits."""
    kept = {p.dtype for p in model.parameters() if p.is_floating_point()}
    kinds = {p.device.type for p in model.parameters()}
    kept |= {torch.get_autocast_dtype(kind) for kind in kinds if torch.is_autocast_enabled(kind)}
    if "cuda" in kinds and torch.get_float32_matmul_precision() != "highest":
        kept.add(torch.bfloat16)
    return max((torch.finfo(dtype).eps / 2 for dtype in kept), default=0.0)
