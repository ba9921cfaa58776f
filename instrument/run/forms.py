"""The closed form of a trainer's loss, and its arguments as they were in the run.

Letters: b rows of a micro-batch, t places: place t of a row stands for its token t + 1.
"""

from typing import Any, NamedTuple

import numpy as np

from ..objective_bounds import Form
from ..objective_free import FreeOptions, cpo_form, odds_form
from ..objective_geometric import geometric_form
from ..objective_online import online_form
from ..objective_pairs import PairOptions, form_of_answers, form_of_pairs, form_of_targets
from ..objective_policy import Options, grpo_form, rloo_form, share_of
from ..objective_record import Scored
from ..objective_rewards import form_of_rewards
from .heard import Heard


class NotTold(LookupError):
    """What a closed form needs did not come from the run."""


class Known(NamedTuple):
    """A closed form and its arguments.

    Attributes:
        form: as in ``objective_bounds``.
        values: its arguments by name, [b, t] or [b, 1] each.
        masks: of those arguments that rounding moves, the tokens that count.
    """

    form: Form
    values: dict[str, Any]
    masks: dict[str, Any]


def form_of(trainer: Any, family: str, batch: Scored, heard: Heard, k: int, count: int) -> Known:
    """The closed form of one of K micro-batches with `count` targets in all.

    Raises:
        NotTold: an argument is missing.
    """
    args, told, mask = trainer.args, heard.told, batch.mask
    if family == "SFTTrainer":
        return Known(form_of_targets(batch, args.loss_type, count), *of_policy(batch))
    if family == "CPOTrainer":
        options = FreeOptions(
            args.loss_type, args.beta, args.label_smoothing, args.simpo_gamma, args.alpha, args.cpo_alpha
        )
        return Known(cpo_form(options, mask, k), *of_policy(batch))
    if family == "ORPOTrainer":
        return Known(odds_form(inside(batch, heard), mask, args.beta, k), *of_policy(batch))
    if family == "RewardTrainer":
        return rewards(args, batch, told, k)
    if family in ("DPOTrainer", "KTOTrainer", "OnlineDPOTrainer"):
        if "reference" not in told and not (told.keys() & {"ref_logps", "ref_chosen_logps"}):
            raise NotTold(
                "the log-probabilities of the reference were not seen: no ref_logps or ref_chosen_logps in the batch, "
                "no log_probs of a forward without gradients"
            )
    if family == "DPOTrainer":
        if "reference" not in told and args.ld_alpha not in (None, 1.0):
            raise NotTold("the log-probabilities of the reference were computed beforehand, and only their sums")
        return Known(form_of_pairs(batch, *pair_options(args), k), *of_models(batch))
    if family == "OnlineDPOTrainer":
        return online(trainer, batch, told, k)
    if family == "KTOTrainer":
        return answers(args, batch, told, k)
    if "advantages" not in told or "importance_sampling_ratio" in told:
        raise NotTold("no advantages stood in the inputs of _compute_loss, or ratios of another sampler did")
    values, masks = of_models(batch)
    values |= {"old": batch.old, "advantage": told["advantages"].reshape(len(mask), -1)}
    form = form_of_policy(args, family, batch, float(told.get("num_items_in_batch", np.array(0.0))), k)
    return Known(form, values, {**masks, "old": mask})


def of_policy(batch: Scored) -> tuple[dict[str, Any], dict[str, Any]]:
    """Arguments of a loss without a reference."""
    return {"policy": batch.policy}, {"policy": batch.mask}


def of_models(batch: Scored) -> tuple[dict[str, Any], dict[str, Any]]:
    """Arguments of a loss with one."""
    values = {"policy": batch.policy, "reference": batch.reference}
    return values, dict.fromkeys(values, batch.mask)


def inside(batch: Scored, heard: Heard) -> Any:
    """[b, t] places of a row, of which the rest is padding."""
    lengths = heard.mask.sum(1) - 1
    return np.arange(batch.mask.shape[1]) < lengths[heard.mask.any(1)][:, None]


def pair_options(args: Any) -> tuple[dict[str, float], PairOptions]:
    """Losses with their weights, and options, of a DPOConfig."""
    weights = args.loss_weights or [1.0] * len(args.loss_type)
    options = PairOptions(
        args.beta,
        args.label_smoothing,
        args.discopop_tau,
        1.0 if args.ld_alpha is None else args.ld_alpha,
        args.f_divergence_type,
        args.f_alpha_divergence_coef,
    )
    return dict(zip(args.loss_type, weights)), options


def online(trainer: Any, batch: Scored, told: dict[str, Any], k: int) -> Known:
    """OnlineDPO: the mean over the micro-batches, as every other trainer has it.

    Raises:
        NotTold: no rewards, or a beta that changes from epoch to epoch.
    """
    if "rewards" not in told or isinstance(trainer.args.beta, list):
        raise NotTold("no rewards stood in training_step, or beta changes from epoch to epoch")
    rewards = [[r] for r in told["rewards"]]
    added_up = online_form(batch, rewards, trainer.args.loss_type, float(trainer.args.beta))

    def form(values: dict[str, Any]) -> tuple[Any, Any]:
        weight, addends = added_up(values)
        return weight / k, addends / k

    return Known(form, *of_models(batch))


def rewards(args: Any, batch: Scored, told: dict[str, Any], k: int) -> Known:
    """RewardTrainer; the reward stands where a log-probability stands elsewhere."""
    margin = told.get("margin", np.zeros(len(batch.mask) // 2))
    centre = args.center_rewards_coefficient or 0.0
    of_rewards = form_of_rewards(batch.mask.shape, batch.mask.argmax(1), margin, centre, k)

    def form(values: dict[str, Any]) -> tuple[Any, Any]:
        return of_rewards({"reward": (values["policy"] * batch.mask).sum(1)})

    return Known(form, *of_policy(batch))


def answers(args: Any, batch: Scored, told: dict[str, Any], k: int) -> Known:
    """KTO.

    Raises:
        NotTold: the completions behind other prompts, or which ones are desirable, were not seen.
    """
    values, masks = of_models(batch)
    mixed = np.zeros(batch.mask.shape, bool)
    if args.loss_type == "kto":
        if not {"KL_logps", "ref_KL_logps", "KL_completion_mask"} <= told.keys():
            raise NotTold(
                "the completions behind other prompts were not seen: KL_logps, ref_KL_logps and KL_completion_mask are "
                "looked for in _compute_loss"
            )
        mixed = told["KL_completion_mask"][:, 1:] > 0
        values |= {"mixed": at_first(mixed, told["KL_logps"]), "mixed reference": at_first(mixed, told["ref_KL_logps"])}
        masks |= {"mixed": mixed, "mixed reference": mixed}
    if "label" not in told:
        raise NotTold("no label stood in the inputs of _compute_loss, which completions are desirable by")
    options = args.loss_type, args.beta, args.desirable_weight, args.undesirable_weight
    return Known(form_of_answers(batch.mask, mixed, told["label"] > 0, options, k), values, masks)


def at_first(mask: Any, sums: Any) -> Any:
    """[b, t] that adds up to the sums [b]: all of each at the first scored token."""
    found = np.zeros(mask.shape)
    found[np.arange(len(mask)), mask.argmax(1)] = sums
    return found


def form_of_policy(args: Any, family: str, batch: Scored, generated: float, k: int) -> Form:
    """The closed form of a GRPOConfig, GMPOConfig or RLOOConfig; `generated`: tokens of the whole generation."""
    high = args.epsilon if args.epsilon_high is None else args.epsilon_high
    if family == "RLOOTrainer":
        return rloo_form(batch, share_of(Options(loss_type="luspo"), batch.mask, 0, k), args.epsilon, high)
    if family == "GMPOTrainer":
        bounds = Options(epsilon=args.epsilon, epsilon_high=high, beta=args.beta)
        return geometric_form(bounds, batch, share_of(Options(loss_type="luspo"), batch.mask, 0, k))
    options = Options(
        args.loss_type,
        args.importance_sampling_level,
        args.epsilon,
        high,
        np.inf if args.delta is None else args.delta,
        args.beta,
        args.use_bias_correction_kl,
        max_completion_length=args.max_completion_length,
        steps_per_generation=args.steps_per_generation,
        rising=(args.vespo_k_pos, args.vespo_lambda_pos),
        falling=(args.vespo_k_neg, args.vespo_lambda_neg),
    )
    return grpo_form(options, batch, share_of(options, batch.mask, int(generated), k))
