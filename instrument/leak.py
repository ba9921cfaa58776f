"""Find gradient that flows from the loss of one sequence into the inputs of another, or of later tokens.

Group testing: a pass labels the sequences of one group, and on a right stack the embedding of every other sequence then
gets a gradient of exactly 0.0. At most 2*ceil(log2 n) groups put every ordered pair (i, j) to the test: i labelled and
j not. For n = 128 it takes 10, for n = 1024 it takes 13.

Letters: b rows, t tokens, n sequences.
"""

from typing import Any

import torch
from torch import nn

from .leak_forward import search_changes
from .leak_loss import Loss
from .leak_passes import Passes
from .leak_record import Leaks
from .leak_search import Search
from .record import Floats


def find_leaks(
    model: nn.Module,
    batch: dict[str, Any],
    documents: Any = None,
    *,
    loss: Loss | None = None,
    every_position: bool = False,
    forward: bool = False,
) -> Leaks:
    """Find every ordered pair of sequences of which one's loss depends on the other's inputs.

    Within a sequence the same passes find a dependence of any of its targets on its inputs at and behind its last
    target. To find any dependence of a target on its own or a later token, `every_position` adds a pass for each
    position of the longest sequence: a target of token t can only be told from later ones when t is the last one
    labelled.

    What gradient misses: a gradient that is zero by itself, as through a weight that is zero (an adapter at its start),
    through a unit that is saturated, or below the smallest number of the model's dtype; and a path that gradient does
    not follow from the token embeddings: detached values, discrete choices, values computed from ids. With `forward`, a
    clean search is followed by one forward for each of its groups, with the tokens of all others changed.

    Args:
        model: looks its tokens up in an embedding, frozen or not, and gives a loss for labels, or logits.
        batch: its arguments, with labels [b, t] in place.
        documents: where the sequences lie, as for `find_sequences`, when the batch does not say.
        loss: the loss to differentiate, from the model and the batch, when it is not the model's own.
        every_position: look for targets that depend on later tokens position by position.
        forward: change tokens too, where gradient shows no pair; as in `leak_forward.search_changes`.

    Returns:
        The leaks, false when there is none. The model is left as it was.

    Raises:
        ValueError: a batch or a model that cannot be measured.
        NothingToSay: a ValueError for a batch with fewer than two sequences or without targets.
        Blind: a ValueError where a leak could not be seen: a sequence whose loss depends on none of its own tokens, or
            no loss that depends on any token but the one before it.
    """
    with Passes(model, batch, loss) as passes:
        search = Search(passes, documents)
        search.test_groups()
        group_passes = passes.count
        pairs = search.locate(search.scored)
        if every_position:
            search.test_positions()
        ahead = search.confirm_ahead(pairs)
        if not (pairs or ahead):
            search.refuse_blind()
        more = passes.count - group_passes
        changes = search_changes(search) if forward and not pairs else None
    return Leaks(
        tuple(search.spans), tuple(pairs), tuple(ahead), search.own, group_passes, more, passes.balance, changes
    )


def leak_matrix(model: nn.Module, batch: dict[str, Any], documents: Any = None, *, loss: Loss | None = None) -> Floats:
    """Measure all pairs, one backward pass for each sequence with targets; arguments and errors as in `find_leaks`.

    Returns:
        [n, n] largest gradient of the loss of sequence i alone at an embedding of sequence j; 0 where i has no target.
    """
    with Passes(model, batch, loss) as passes:
        search = Search(passes, documents)
        n = len(search.spans)
        matrix = torch.zeros(n, n, dtype=torch.float64)
        for i in search.scored:
            matrix[i] = search.largest(search.run([i]))
    return matrix.numpy()
