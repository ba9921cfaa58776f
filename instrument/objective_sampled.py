"""What GRPO gives every completion token of a driven run that another program is said to have sampled."""

from collections.abc import Sequence

import numpy as np

from closed_forms import policy_masks

from .objective_bounds import Expected, Form
from .objective_policy import Options, Rewards, of_grpo, policy_term
from .objective_record import Driven, Scored
from .record import Floats


def of_sampled(
    driven: Driven,
    rewards: Rewards,
    group: int,
    options: Options,
    drift: Sequence[Sequence[float]],
    mode: str,
    low: float = 0.0,
    high: float = 3.0,
) -> list[list[Expected]]:
    """[window][micro-batch] what the tokens of each completion weigh, at token level and without a penalty.

    Args:
        rewards, group, options: as for ``of_grpo``.
        drift: [number][n] as in ``run_sampled``; mode, low, high: as in ``policy_masks.sampler_ratio``.
    """

    def form_of(options: Options, batch: Scored, share: Floats) -> Form:
        # A constant of the run: what the sampler said does not err with what the policy is asked for once more.
        sampled = batch.old.copy()
        for b, number in enumerate(batch.numbers):
            sampled[b, batch.mask[b]] += drift[number]

        def form(values: dict[str, Floats]) -> tuple[Floats, Floats]:
            term, size = policy_term(options, batch, values)
            ratio = policy_masks.sampler_ratio(values["old"], sampled, batch.mask, mode, low, high)
            return share * ratio * term, share * np.maximum(ratio, 1) * size

        return form

    return of_grpo(driven, rewards, group, options, form_of)
