"""What SDPO, and SDFT at the sampled tokens, give every completion token of a driven run, by the closed forms."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from closed_forms import distillation, policy_tokens

from .objective_bounds import Expected, Form
from .objective_distilled import by_completion
from .objective_policy import FormOf, Options, Rewards, of_grpo, of_models, policy_term
from .objective_record import Driven, Scored
from .record import Floats


def of_sdpo(
    driven: Driven,
    rewards: Rewards,
    group: int,
    options: Options,
    taught: Sequence[bool],
    weight: float = 1.0,
    cap: float = 2.0,
) -> list[list[Expected]]:
    """[window][micro-batch] what TRL gives the tokens; rewards, group and options as for ``of_grpo``.

    Its dapo is bnpo, and advantages that are not scaled are divided by 1 + 10^-4.

    Args:
        taught: [number] the completion has a teacher that saw another one succeed.
        weight: distillation_weight, from the sampled tokens alone; cap: distillation_is_clip.
    """
    local = replace(options, loss_type={"dapo": "bnpo"}.get(options.loss_type, options.loss_type))
    kept = (1 - weight) / (1 + 1e-4 * (options.scale_rewards == "none"))
    return of_grpo(driven, rewards, group, local, mixed(driven, taught, kept, weight, cap))


def of_sampled_tokens(driven: Driven, skipped: int = 0, cap: float = 2.0) -> list[list[Expected]]:
    """[window][micro-batch] what SDFT gives the tokens with distillation_mode="sampled_token".

    Args:
        skipped: num_loss_tokens_to_skip; cap: distillation_is_clip.
    """

    def of_batch(batch: Scored, k: int) -> Expected:
        each = by_completion(batch.mask, skipped, k)

        def form(values: dict[str, Floats]) -> tuple[Floats, Floats]:
            pull = distillation.sampled_token(values["policy"], values["reference"], values["old"], batch.mask, cap)
            return each * pull, each * cap * (np.abs(values["policy"]) + np.abs(values["reference"]))

        none = np.zeros((len(batch.numbers), 1))
        return of_models(form, batch, none, none, driven.record.vocabulary)

    return [[of_batch(batch, len(window)) for batch in window] for window in driven.windows]


def documented_sdpo(
    driven: Driven, rewards: Rewards, group: int, options: Options, taught: Sequence[bool], weight: float = 1.0
) -> list[list[Expected]]:
    """As ``of_sdpo``, by what its documentation says of loss_type and scale_rewards."""
    return of_grpo(driven, rewards, group, options, mixed(driven, taught, 1 - weight, weight, 2.0))


def mixed(driven: Driven, taught: Sequence[bool], kept: float, weight: float, cap: float) -> FormOf:
    """Kept times the policy's term and weight times the teacher's."""
    sizes = {id(batch): len(window) for window in driven.windows for batch in window}

    def form_of(options: Options, batch: Scored, share: Floats) -> Form:
        seen = batch.mask & np.array([taught[number] for number in batch.numbers])[:, None]
        each = weight * policy_tokens.by_completion(seen, sizes[id(batch)])

        def form(values: dict[str, Floats]) -> tuple[Floats, Floats]:
            term, size = policy_term(options, batch, values)
            pull = distillation.sampled_token(values["policy"], values["reference"], values["old"], seen, cap)
            addends = cap * seen * (np.abs(values["policy"]) + np.abs(values["reference"]))
            return kept * share * term + each * pull, kept * share * size + each * addends

        return form

    return form_of
