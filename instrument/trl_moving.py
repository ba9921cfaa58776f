"""Losses whose reference follows the policy while it trains, on the report's rows, beside their closed forms."""

from typing import Any

from .objective_moving import bias_corrected, synchronized
from .objective_pairs import PairOptions, of_dpo, of_kto
from .objective_policy import Options, of_grpo
from .objective_record import ObjectiveRun
from .tiny import near, tiny_policy
from .trl_rows import ANSWERS, PAIRS, VOCABULARY, groups, rewards
from .trl_runs import Run, beside

SYNCHRONIZED: dict[str, Any] = {"sync_ref_model": True, "ref_model_mixup_alpha": 0.6}
BEFORE = "until its first average the reference takes the weights that training began with"


def pairs_synchronized() -> ObjectiveRun:
    """DPOTrainer with sync_ref_model behind every second step."""
    from .loops.dpo import run_dpo

    model = tiny_policy(VOCABULARY)
    options = {**SYNCHRONIZED, "ref_model_sync_steps": 2, "beta": 0.5, "micro_batch": 1, "learning_rate": 0.1}
    driven = run_dpo(model, PAIRS, reference=near(model), moves=synchronized(0.6, 2), **options)
    return beside(driven, of_dpo(driven, {"sigmoid": 1.0}, PairOptions(0.5)))


def answers_synchronized() -> ObjectiveRun:
    """KTOTrainer with sync_ref_model behind every step."""
    from .loops.kto import run_kto

    model = tiny_policy(VOCABULARY)
    options = {**SYNCHRONIZED, "ref_model_sync_steps": 1, "beta": 0.5, "micro_batch": 2, "learning_rate": 0.1}
    driven, mixed = run_kto(model, ANSWERS, reference=near(model), moves=synchronized(0.6, 1), **options)
    return beside(driven, of_kto(driven, mixed, [good for _, _, good in ANSWERS], beta=0.5))


def groups_synchronized() -> ObjectiveRun:
    """GRPOTrainer with sync_ref_model behind every step."""
    from .loops.grpo import run_grpo

    model = tiny_policy(VOCABULARY)
    options = {**SYNCHRONIZED, "ref_model_sync_steps": 1, "beta": 0.1, "micro_batch": 2, "learning_rate": 0.1}
    driven = run_grpo(model, groups(), reference=near(model), moves=synchronized(0.6, 1), **options)
    return beside(driven, of_grpo(driven, rewards(), 2, Options(beta=0.1)))


def averaged(after: int, known: str = "") -> Run:
    """DPOTrainer whose callback averages the policy from a step on, and hands it to the reference behind every step."""

    def run() -> ObjectiveRun:
        from .loops.dpo import run_dpo_averaged

        def driven(began: bool) -> Any:
            model = tiny_policy(VOCABULARY)
            options = {"every": 1, "after": after, "reference_every": 1, "reference_after": 0, "lag": 2}
            names = ("update_freq", "update_after", "ref_model_update_freq", "ref_model_update_after", "lag")
            return run_dpo_averaged(
                model,
                PAIRS,
                reference=near(model),
                moves=bias_corrected(**options, began=began),
                average=dict(zip(names, options.values())),
                beta=0.5,
                micro_batch=1,
                learning_rate=0.1,
            )

        found = driven(True)
        form = of_dpo(found, {"sigmoid": 1.0}, PairOptions(0.5))
        if not known:
            return beside(found, form)
        # The same run, its reference as the equations have it.
        return beside(found, form, of_dpo(driven(False), {"sigmoid": 1.0}, PairOptions(0.5)), known)

    return run


RUNS: tuple[tuple[str, bool, Run], ...] = (
    ("DPO, synchronized reference", False, pairs_synchronized),
    ("KTO, synchronized reference", False, answers_synchronized),
    ("GRPO, synchronized reference", False, groups_synchronized),
    ("DPO, averaged reference", False, averaged(0)),
    ("DPO, averaged reference, burn-in", True, averaged(2, BEFORE)),
)
