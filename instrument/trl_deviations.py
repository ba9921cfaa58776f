"""Where a trainer of TRL departs from its documentation: the form that it follows, and the documented one."""

from collections.abc import Sequence
from typing import Any

from .objective_bounds import Expected
from .objective_pairs import PairOptions, of_dpo, of_sft
from .objective_policy import Options, of_grpo
from .objective_record import ObjectiveRun
from .objective_verdict import miss
from .tiny import near, tiny_policy
from .trl_rows import GROUPS, PAIRS, ROWS, VOCABULARY, groups, rewards
from .trl_runs import Run, beside, compared

WINDOW: dict[str, Any] = {"micro_batch": 2, "gradient_accumulation_steps": 2, "beta": 0.0}


def rescaled(forms: list[list[Expected]], factors: Sequence[Sequence[float]]) -> list[list[Expected]]:
    """Forms of which each micro-batch is multiplied by a number."""
    return [
        [Expected(f.weight * c, f.allowed * c) for f, c in zip(window, numbers)]
        for window, numbers in zip(forms, factors)
    ]


def smoothing_of_dft() -> ObjectiveRun:
    """label_smoothing_factor with loss_type="dft": nothing of it."""
    from .loops.sft import run_supervised

    driven = run_supervised(
        tiny_policy(VOCABULARY),
        ROWS,
        micro_batch=2,
        gradient_accumulation_steps=2,
        loss_type="dft",
        label_smoothing_factor=0.1,
    )
    form = of_sft(driven, "dft")
    known = "label_smoothing_factor=0.1 is not looked at: the target keeps all of its weight"
    return beside(driven, form, rescaled(form, [[0.9] * len(window) for window in form]), known)


def short_micro_batch(loss_type: str) -> Run:
    """DPO over three pairs in micro-batches of two: a mean of the means of the micro-batches."""

    def run() -> ObjectiveRun:
        from .loops.dpo import run_dpo

        model = tiny_policy(VOCABULARY)
        settings: dict[str, Any] = {"micro_batch": 2, "gradient_accumulation_steps": 2, "beta": 0.5}
        driven = run_dpo(model, PAIRS[:3], reference=near(model), loss_type=[loss_type], **settings)
        form = of_dpo(driven, {loss_type: 1.0}, PairOptions(beta=0.5))
        shares = [[len(batch.numbers) / 2 for batch in window] for window in driven.windows]
        if loss_type == "sft":
            shares = [[batch.mask[: len(batch.numbers) // 2].sum() for batch in window] for window in driven.windows]
        even = [[len(window) * share / sum(window) for share in window] for window in shares]
        known = "each micro-batch is averaged by itself, so what stands in the short one weighs more"
        return beside(driven, form, rescaled(form, even), known)

    return run


def several_windows(loss_type: str) -> Run:
    """Two windows of unequal length from one generation, S = 2 K: both are divided by their mean."""

    def run() -> ObjectiveRun:
        from .loops.grpo import run_grpo

        settings: dict[str, Any] = {"gradient_accumulation_steps": 1, "steps_per_generation": 2}
        more: dict[str, Any] = {"learning_rate": 0.03, "loss_type": loss_type, "epsilon_high": 2.0, "beta": 0.0}
        driven = run_grpo(tiny_policy(VOCABULARY), groups(), micro_batch=2, **settings, **more)
        form = of_grpo(driven, rewards(), 2, Options(loss_type, steps_per_generation=2, epsilon_high=2.0))
        sizes = [sum(int(batch.mask.sum()) for batch in window) for window in driven.windows]
        shared = [
            sum(len(GROUPS[n // 2][1][n % 2]) for n in driven.generations[window[0].generation]) / 2
            for window in driven.windows
        ]
        factors = [[given / own] * len(window) for given, own, window in zip(shared, sizes, driven.windows)]
        known = "divided by the mean length of the windows of a generation, not by the window's own tokens"
        return beside(driven, form, rescaled(form, factors), known)

    return run


def entropy_by_sequence() -> ObjectiveRun:
    """top_entropy_quantile with the ratio of the completion: tokens of low entropy keep a share of the loss."""
    from .loops.grpo import run_grpo

    level: dict[str, Any] = {
        "loss_type": "grpo",
        "importance_sampling_level": "sequence",
        "top_entropy_quantile": 0.4,
    }
    driven = run_grpo(
        tiny_policy(VOCABULARY), groups(), micro_batch=2, gradient_accumulation_steps=2, beta=0.0, **level
    )
    form = of_grpo(driven, rewards(), 2, Options(**level, steps_per_generation=2))
    token = Options(**{**level, "importance_sampling_level": "token"}, steps_per_generation=2)
    known = (
        "tokens outside of the quantile have a gradient all the same: those inside spread theirs over the completion"
    )
    return beside(driven, form, of_grpo(driven, rewards(), 2, token), known)


def truncated_in_the_mean() -> ObjectiveRun:
    """mask_truncated_completions: what is left out of the loss is still counted in its mean."""
    from .loops.grpo import run_grpo

    options: dict[str, Any] = {"loss_type": "grpo", "mask_truncated_completions": True}
    driven = run_grpo(
        tiny_policy(VOCABULARY), groups(), micro_batch=2, gradient_accumulation_steps=2, beta=0.0, **options
    )
    form = of_grpo(driven, rewards(), 2, Options("grpo", steps_per_generation=2))
    kept = [[len(batch.numbers) / max((batch.numbers >= 0).sum(), 1) for batch in window] for window in driven.windows]
    known = "truncated completions are counted in the mean over completions, so the others weigh less"
    return beside(driven, form, rescaled(form, kept), known)


def grpo_as_it_comes() -> ObjectiveRun:
    """The loss that GRPOTrainer takes when none is asked for, beside the paper's mean over each completion."""
    from .loops.grpo import run_grpo

    driven = run_grpo(
        tiny_policy(VOCABULARY), groups(), micro_batch=2, gradient_accumulation_steps=2, learning_rate=0.03, beta=0.0
    )
    forms = {name: of_grpo(driven, rewards(), 2, Options(name, steps_per_generation=2)) for name in ("bnpo", "dapo")}
    paper = of_grpo(driven, rewards(), 2, Options("grpo", steps_per_generation=2))
    name = min(forms, key=lambda each: miss(compared(driven.windows, forms[each], {}).windows)[0])
    means = {"bnpo": "the tokens of each micro-batch", "dapo": "all tokens that were generated for the step"}
    return beside(driven, forms[name], paper, f"{name}: one mean over {means[name]}, not over each completion")
