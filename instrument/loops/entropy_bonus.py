"""TRL's real GRPOTrainer with an entropy bonus, its gradient at the final hidden state split into policy and bonus."""

from collections.abc import Sequence
from dataclasses import replace
from importlib.metadata import version
from typing import Any, NamedTuple

import numpy as np
import torch

from ..capture import Replay
from ..objective_record import Bonus, Driven
from ..record import Floats
from .groups import Group
from .grpo import run_grpo
from .scored import padded


class Arrived(NamedTuple):
    """One micro-batch at the parameters that it ran with: ids and mask [b, t], hidden and pull [b, t, h], head [v, h].

    pull is the negative gradient at the hidden state.
    """

    ids: Any
    mask: Any
    hidden: Any
    pull: Any
    head: Any


def run_with_bonus(
    model: Any, groups: Sequence[Group], push: Any, *, micro_batch: int, **arguments: Any
) -> tuple[Driven, list[list[Bonus]]]:
    """As ``run_grpo``.

    Args:
        model: the policy; no adapter.
        push: of logits [n, v] the push of the bonus with a coefficient of 1, [n, v].

    Returns:
        The run, its weights and amplifications those of the policy's part; and [window][micro-batch] the bonus.
    """
    arrived: list[Arrived] = []

    def take(base: Any, args: Any, inputs: dict[str, Any], output: Any) -> None:
        hidden = output.last_hidden_state
        if hidden.requires_grad and not Replay.running:
            ran = (inputs["input_ids"], inputs["attention_mask"].bool(), hidden.detach().clone())
            head = model.lm_head.weight.detach().clone()
            hidden.register_hook(lambda gradient: arrived.append(Arrived(*ran, -gradient, head)))

    handle = model.base_model.register_forward_hook(take, with_kwargs=True)
    driven = run_grpo(model, groups, micro_batch=micro_batch, **arguments)
    handle.remove()
    batches = sum(len(window) for window in driven.windows)
    if len(arrived) != batches:
        raise LookupError(
            f"trl {version('trl')}: GRPOTrainer brought {len(arrived)} gradients to last_hidden_state of its policy in "
            f"{batches} micro-batches: the bonus is read from one each"
        )
    waiting = iter(arrived)
    shares: list[list[Bonus]] = []
    for number, window in enumerate(driven.windows):
        shares.append([])
        for place, batch in enumerate(window):
            weight, amplification, bonus = split(next(waiting), batch.mask, push)
            driven.windows[number][place] = replace(batch, weight=weight, amplification=amplification)
            shares[-1].append(bonus)
    return driven, shares


def split(one: Arrived, mask: Any, push: Any) -> tuple[Floats, Floats, Bonus]:
    """Weight of the policy's part and its amplification, and the bonus; least squares with two unknowns per token."""
    tables: list[list[Floats]] = [[] for _ in range(5)]
    head = one.head.double().numpy()
    nothing = np.zeros(0)
    for b in range(len(one.ids)):
        seen = one.mask[b]
        if seen.sum() < 2:
            # A truncated completion that is masked leaves the row of its prompt, which may be one token.
            for table in tables:
                table.append(nothing)
            continue
        ids, hidden, pull = (x[b][seen].numpy() for x in (one.ids, one.hidden.double(), one.pull.double()))
        logits_nv = hidden[:-1] @ head.T
        p_nv = torch.softmax(torch.as_tensor(logits_nv), -1).numpy()
        r_nh, e_nh, g_nh = head[ids[1:]] - p_nv @ head, push(logits_nv) @ head, pull[:-1]
        rr, ee, re = ((x * y).sum(1) for x, y in ((r_nh, r_nh), (e_nh, e_nh), (r_nh, e_nh)))
        rg, eg = (r_nh * g_nh).sum(1), (e_nh * g_nh).sum(1)
        determinant = rr * ee - re * re
        w, c = (rg * ee - eg * re) / determinant, (eg * rr - rg * re) / determinant
        rest = np.linalg.norm(g_nh - w[:, None] * r_nh - c[:, None] * e_nh, axis=1)
        column = np.linalg.norm(head, axis=1).max()
        sizes = (column * np.sqrt(ee / determinant), column * np.sqrt(rr / determinant))
        for table, values in zip(tables, (w, sizes[0], c, rest / np.sqrt(ee), sizes[1])):
            table.append(values)
    w, a_w, c, rest, a_e = (np.asarray(padded(table)) for table in tables)
    return w, a_w, Bonus(c, rest, a_e)
