"""What OnlineDPO gives every token of a driven run, by the closed forms."""

import numpy as np

from closed_forms import preference

from .objective_bounds import Expected, Form
from .objective_pairs import addend_of, of_models
from .objective_policy import Rewards
from .objective_record import Driven, Scored
from .record import Floats


def of_online_dpo(driven: Driven, rewards: Rewards, loss_type: str, beta: float) -> list[list[Expected]]:
    """[window][micro-batch] what the tokens of each completion weigh; rewards: [number][1].

    The micro-batches of a window are added up, not averaged: no K.
    """
    return [
        [of_models(online_form(batch, rewards, loss_type, beta), batch, driven.record.vocabulary) for batch in window]
        for window in driven.windows
    ]


def online_form(batch: Scored, rewards: Rewards, loss_type: str, beta: float) -> Form:
    """One micro-batch, all first completions above all second; of two equal rewards the first is the better."""
    pairs = len(batch.numbers) // 2
    r_b = np.array([float(rewards[number][0] or 0.0) for number in batch.numbers])
    first = r_b[:pairs] >= r_b[pairs:]

    def form(values: dict[str, Floats]) -> tuple[Floats, Floats]:
        u = ((values["policy"] - values["reference"]) * batch.mask).sum(1)
        x, y = np.where(first, u[:pairs], u[pairs:]), np.where(first, u[pairs:], u[:pairs])
        w, _ = (preference.sigmoid if loss_type == "sigmoid" else preference.ipo)(x, y, beta)
        side = np.where(first, w, -w)
        size = max(addend_of(loss_type, float(np.abs(u).max()), beta, 0.0, 1.0) / pairs, float(np.abs(w).max()))
        return np.asarray(batch.mask * np.concatenate([side, -side])[:, None]), np.asarray(batch.mask * size)

    return form
