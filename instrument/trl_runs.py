"""Each trainer of TRL on the report's rows, beside its closed form.

TRL is imported when a run begins, not before.
"""

import copy
import warnings
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from .objective_bounds import Expected
from .objective_pairs import PairOptions, of_dpo, of_kto, of_sft
from .objective_policy import Options, of_grpo, of_rloo
from .objective_record import Compared, Driven, ObjectiveRun, Scored
from .objective_rewards import of_rewards
from .tiny import near, tiny_policy, tiny_reward
from .trl_rows import ANSWERS, MARKS, PAIRS, ROWS, TURNS, VOCABULARY, groups, rewards

Run = Callable[[], ObjectiveRun]


def compared(windows: Sequence[Sequence[Any]], forms: list[list[Expected]], changes: dict[str, str]) -> ObjectiveRun:
    """Measured beside expected."""
    return ObjectiveRun(
        [
            [Compared(batch.numbers, batch.weight, form.weight, form.allowed) for batch, form in zip(window, expected)]
            for window, expected in zip(windows, forms)
        ],
        dict(changes),
    )


def beside(
    driven: Driven, forms: list[list[Expected]], documented: list[list[Expected]] | None = None, known: str = ""
) -> ObjectiveRun:
    """A driven run beside its form, and beside the documented one where they differ."""
    run = compared(driven.windows, forms, driven.record.changes)
    run.apart = untrained(driven)
    if documented is not None:
        run.documented, run.known = compared(driven.windows, documented, {}).windows, known
    return run


def untrained(driven: Driven) -> str:
    """Which completions were generated and came to no window; nothing where all of them did.

    A masked completion leaves the row of its prompt alone, by which it is not told from others: then nothing is said.
    """
    met = {int(number) for window in driven.windows for batch in window for number in batch.numbers}
    given = {number for numbers in driven.generations for number in numbers}
    left = sorted(given - met)
    if not left or -1 in met:
        return ""
    return f"{len(left)} of {len(given)} generated completions were never trained on, row {left[0]} the first"


def supervised(loss_type: str = "nll", masks: Sequence[str] = (), **options: Any) -> Run:
    """SFTTrainer; masks by the names of their columns."""

    def run() -> ObjectiveRun:
        from .loops.sft import run_supervised

        columns: dict[str, Sequence[Sequence[int]]] = {"completion_mask": MARKS, "assistant_masks": TURNS}
        given = {name: columns[name] for name in masks}
        settings = {"micro_batch": 2, "gradient_accumulation_steps": 2, "loss_type": loss_type, **options}
        driven = run_supervised(tiny_policy(VOCABULARY), ROWS, given, **settings)
        return beside(driven, of_sft(driven, loss_type))

    return run


def smoothed() -> ObjectiveRun:
    """SFTTrainer with label smoothing: what each target keeps, and what of it is spread over the vocabulary."""
    from .loops.sft import run_supervised

    share = 0.1
    options: dict[str, Any] = {"micro_batch": 2, "gradient_accumulation_steps": 2, "label_smoothing_factor": share}
    with warnings.catch_warnings():
        # TRL announces that it will drop the option.
        warnings.filterwarnings("ignore", "`label_smoothing_factor` is deprecated in `SFTTrainer`", FutureWarning)
        driven = run_supervised(tiny_policy(VOCABULARY), ROWS, **options)
    return compared(*kept_and_spread(driven, share), driven.record.changes)


def kept_and_spread(driven: Driven, share: float) -> tuple[list[list[Scored]], list[list[Expected]]]:
    """Each micro-batch twice, with its form: what targets keep of 1/N, and the share of it that is spread evenly.

    One product reads both, so that either may be off by what the whole may.
    """
    windows: list[list[Scored]] = []
    forms: list[list[Expected]] = []
    for window, whole in zip(driven.windows, of_sft(driven)):
        kept = [replace(batch, uniform=0 * batch.uniform) for batch in window]
        windows.append(kept + [replace(batch, weight=of.uniform) for batch, of in zip(kept, window)])
        forms.append([Expected(f.weight * part, f.allowed) for part in (1 - share, share) for f in whole])
    return windows, forms


def preferred(losses: dict[str, float], form: dict[str, Any], peft: bool = False, **options: Any) -> Run:
    """DPOTrainer; form: options of the closed form, which the trainer gets by its own names."""

    def run() -> ObjectiveRun:
        from .loops.dpo import run_dpo

        model = tiny_policy(VOCABULARY)
        reference = copy.deepcopy(model) if peft else near(model)
        names = {
            "epsilon": "label_smoothing",
            "tau": "discopop_tau",
            "divergence": "f_divergence_type",
            "alpha": "f_alpha_divergence_coef",
            "weighted": "use_weighting",
        }
        given = {names.get(name, name): value for name, value in form.items()}
        driven = run_dpo(
            model,
            PAIRS,
            reference=reference,
            peft=adapter() if peft else None,
            loss_type=list(losses),
            loss_weights=list(losses.values()),
            **{"micro_batch": 2, "gradient_accumulation_steps": 2, "learning_rate": 0.1, **given, **options},
        )
        return beside(driven, of_dpo(driven, losses, PairOptions(**form)))

    return run


def unpaired(loss_type: str) -> Run:
    """KTOTrainer."""

    def run() -> ObjectiveRun:
        from .loops.kto import run_kto

        model = tiny_policy(VOCABULARY)
        driven, mixed = run_kto(
            model,
            ANSWERS,
            reference=near(model),
            micro_batch=2,
            gradient_accumulation_steps=2,
            learning_rate=0.3,
            loss_type=loss_type,
            beta=0.5,
            desirable_weight=2.0,
            undesirable_weight=1.5,
        )
        marks = [good for _, _, good in ANSWERS]
        return beside(driven, of_kto(driven, mixed, marks, loss_type=loss_type, beta=0.5, gain=2.0, loss=1.5))

    return run


def rewarding(margins: Sequence[float] | None, centre: float) -> Run:
    """RewardTrainer."""

    def run() -> ObjectiveRun:
        from .loops.reward import run_reward

        pairs = [((*prompt, *chosen), (*prompt, *rejected)) for prompt, chosen, rejected in PAIRS]
        windows, changes = run_reward(
            tiny_reward(VOCABULARY),
            pairs,
            margins=margins,
            micro_batch=2,
            gradient_accumulation_steps=2,
            center_rewards_coefficient=centre or None,
        )
        return compared(windows, of_rewards(windows, margins, centre), changes)

    return run


def relative(form: dict[str, Any], peft: bool = False, tools: bool = False, **options: Any) -> Run:
    """GRPOTrainer; form: options of the closed form, by TRL's names; tools: one wrote a token of each completion."""

    def run() -> ObjectiveRun:
        from .loops.grpo import GRPOConfig, run_grpo

        model = tiny_policy(VOCABULARY)
        reference = None
        if form.get("beta"):
            reference = copy.deepcopy(model) if peft else near(model)
        settings = {
            "micro_batch": 2,
            "gradient_accumulation_steps": 2,
            "steps_per_generation": 2,
            "num_iterations": 2,
            "learning_rate": 0.03,
            # Releases before 0.19 have a beta of 0.04 by default.
            "beta": 0.0,
            **{name: value for name, value in form.items() if name != "delta" or np.isfinite(value)},
            **options,
        }
        driven = run_grpo(model, groups(tools), reference=reference, peft=adapter() if peft else None, **settings)
        # What the installed release does when it is not asked: no correction up to 1.8, bnpo up to 0.21.
        own = {
            "use_bias_correction_kl": getattr(GRPOConfig, "use_bias_correction_kl", False),
            "loss_type": getattr(GRPOConfig, "loss_type", "bnpo"),
        }
        closed = Options(**{"steps_per_generation": settings["steps_per_generation"], **own, **form})
        return beside(driven, of_grpo(driven, rewards(), 2, closed))

    return run


# Some ratios of an off-policy window lie between these two, so that one is not taken for the other.
BETWEEN: dict[str, Any] = {"epsilon": 0.03, "epsilon_high": 0.5}


def left_out(normalize: bool, beta: float, **options: Any) -> Run:
    """RLOOTrainer."""

    def run() -> ObjectiveRun:
        from .loops.rloo import run_rloo

        model = tiny_policy(VOCABULARY)
        driven = run_rloo(
            model,
            groups(),
            reference=near(model) if beta else None,
            micro_batch=2,
            gradient_accumulation_steps=2,
            num_iterations=2,
            learning_rate=0.004,
            beta=beta,
            normalize_advantages=normalize,
            **BETWEEN,
            **options,
        )
        return beside(driven, of_rloo(driven, rewards(), 2, beta=beta, normalize=normalize, **BETWEEN))

    return run


def adapter() -> Any:
    """LoRA on an attention and an MLP projection, not zero at first, so that the policy is not the reference."""
    from .loops.scored import lora

    return lora(("q_proj", "down_proj"))
