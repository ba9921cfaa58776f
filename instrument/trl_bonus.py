"""GRPO's entropy bonus on the report's rows, beside its closed form."""

from typing import Any

from closed_forms.regularizers import adaptive_coefficients

from .objective_policy import Options
from .objective_record import ObjectiveRun
from .tiny import tiny_policy
from .trl_rows import VOCABULARY, groups, rewards
from .trl_runs import Run, compared

COEFFICIENT = 0.25
CONTROL: dict[str, Any] = {"entropy_target": 4.05, "entropy_coef_delta": 0.125}


def encouraged(share: bool = False, **options: Any) -> Run:
    """GRPOTrainer with an entropy bonus; share: judge the bonus, else the policy's weights beside it.

    The bonus is judged in both: where it is not as TRL is known to have it, that is said.
    """

    def run() -> ObjectiveRun:
        # TRL is imported when a run begins.
        from .loops.entropy_bonus import run_with_bonus
        from .objective_entropy import elsewhere, entropies_of, of_bonus, of_policy, push

        window: dict[str, Any] = {"micro_batch": 2, "gradient_accumulation_steps": 2, "steps_per_generation": 2}
        asked = {"entropy_coef": COEFFICIENT, "beta": 0.0, "learning_rate": 0.1, **options}
        driven, bonus = run_with_bonus(tiny_policy(VOCABULARY), groups(), push, **window, **asked)
        kept = options.get("top_entropy_quantile", 1.0)
        coefficients = [COEFFICIENT] * len(driven.windows)
        if options.get("use_adaptive_entropy"):
            target, delta = asked["entropy_target"], asked["entropy_coef_delta"]
            coefficients = list(adaptive_coefficients(entropies_of(driven, kept), COEFFICIENT, target, delta))
        shares = of_bonus(driven, bonus, coefficients, kept)
        closed = Options(steps_per_generation=2, top_entropy_quantile=kept)
        found = compared(driven.windows, of_policy(driven, bonus, rewards(), 2, closed), driven.record.changes)
        if share:
            found = ObjectiveRun(shares, driven.record.changes, of_bonus(driven, bonus, coefficients, kept, whole=True))
            found.known = "the mean entropy of each micro-batch is averaged by itself"
        else:
            # Both lists: a policy that is right beside a bonus that is not is no check that passes.
            found.windows = found.windows + shares
        found.apart = elsewhere(driven, bonus, shares)
        return found

    return run
