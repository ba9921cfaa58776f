"""What IW-OPD gives every token of a driven run, by the closed form."""

from collections.abc import Sequence

import numpy as np

from closed_forms import distillation

from .objective_bounds import Expected, Form
from .objective_pairs import of_models
from .objective_record import Driven, Scored
from .record import Floats


def of_iw_opd(
    driven: Driven, gamma: float, counts: Sequence[float] | None = None, tiny: float = 1e-8
) -> list[list[Expected]]:
    """[window][micro-batch] what the sampled tokens weigh, at the log-probabilities of the window.

    Args:
        gamma, tiny: iw_opd_gamma and iw_opd_epsilon.
        counts: of each window what is divided by; its scored tokens, if left out.
    """
    counts = counts or [sum(int(batch.mask.sum()) for batch in window) for window in driven.windows]
    return [
        [of_models(sampled_form(batch, gamma, tiny, n), batch, driven.record.vocabulary) for batch in window]
        for window, n in zip(driven.windows, counts)
    ]


def sampled_form(batch: Scored, gamma: float, tiny: float, count: float) -> Form:
    """One micro-batch."""

    def form(values: dict[str, Floats]) -> tuple[Floats, Floats]:
        policy, teacher = values["policy"], values["reference"]
        weight = distillation.iw_opd(teacher, policy, batch.mask, gamma, tiny)
        size = (1 + gamma) * (np.abs(policy) + np.abs(teacher)) * batch.mask
        return weight / count, size / count

    return form
