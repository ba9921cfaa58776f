"""The trainers of trl.experimental that learn from rewards in their own way, on the report's rows."""

from .objective_a2po import of_a2po
from .objective_record import ObjectiveRun
from .tiny import tiny_policy
from .trl_rows import GROUPS, VOCABULARY
from .trl_runs import Run, beside

# Rewards of three samples of the reference for each prompt; the third prompt's are all 0, so that it is left out.
VALUES = ((1.0, 0.0, 0.0), (1.0, 1.0, 0.0), (0.0, 0.0, 0.0), (0.0, 1.0, 0.0))
REWARDS = (1.0, 0.0, 1.0, 1.0)


def regressed() -> ObjectiveRun:
    """A2POTrainer."""
    from .loops.a2po import Valued, run_a2po

    samples = ((30, 2), (31, 32, 2), (33, 34, 35, 2))
    prompts = [
        Valued(prompt, completions[1], reward, samples, values)
        for (prompt, completions, _), reward, values in zip(GROUPS, REWARDS, VALUES)
    ]
    driven = run_a2po(
        tiny_policy(VOCABULARY), prompts, micro_batch=1, gradient_accumulation_steps=2, beta2=0.5, learning_rate=0.1
    )
    return beside(driven, of_a2po(driven, REWARDS, VALUES, 0.5, 0.5))


RUNS: tuple[tuple[str, bool, Run], ...] = (("A*-PO", False, regressed),)
