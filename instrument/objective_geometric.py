"""What GMPO gives every completion token of a driven run, by the closed forms."""

from dataclasses import replace

import numpy as np

from closed_forms import kl, policy, policy_tokens

from .objective_bounds import Expected, Form
from .objective_policy import Options, Rewards, of_grpo
from .objective_record import Driven, Scored
from .record import Floats


def of_gmpo(driven: Driven, rewards: Rewards, group: int, options: Options) -> list[list[Expected]]:
    """[window][micro-batch] what the tokens of each completion weigh; arguments as for ``of_grpo``.

    Of the options GMPO looks at epsilon and epsilon_high, which bound the log-ratio, and at beta.
    """
    # Its completions are added up and divided by B K, as under luspo; their lengths stand in the factor.
    return of_grpo(driven, rewards, group, replace(options, loss_type="luspo"), geometric_form)


def geometric_form(options: Options, batch: Scored, share: Floats) -> Form:
    """Share times the factor of the geometric mean and the penalty averaged over the completion."""
    mask, low, high = batch.mask, options.epsilon, options.epsilon_high

    def form(values: dict[str, Floats]) -> tuple[Floats, Floats]:
        q, a_b = values["policy"] - values["old"], values["advantage"][:, 0]
        factor = policy.geometric(q, a_b, mask, low, high)
        term = policy_tokens.at_tokens(mask, factor)
        if not options.beta:
            return share * term, share * np.abs(term)
        u = np.where(mask, values["policy"] - values["reference"], 0.0)
        own = mask / np.maximum(mask.sum(1, keepdims=True), 1)
        sizes = np.abs(term) + own * options.beta * (1 + np.exp(-u))
        return share * (term + own * kl.plain(u, options.beta)), share * sizes

    return form
