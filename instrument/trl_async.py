"""AsyncGRPO on the report's rows, beside its closed form."""

from typing import Any

from .objective_async import of_async_grpo
from .objective_record import ObjectiveRun
from .tiny import tiny_policy
from .trl_rows import GROUPS, VOCABULARY
from .trl_runs import BETWEEN, Run

BY_ITSELF = "each micro-batch is averaged by itself, so what stands in a short one weighs more"


def rolled_out(micro_batch: int, accumulation: int) -> Run:
    """AsyncGRPOTrainer, off-policy and clipped."""

    def run() -> ObjectiveRun:
        from .loops.async_grpo import Rollout, run_async_grpo

        # What a worker would make of the rewards is given; completions of a prompt begin alike.
        rollouts = [
            Rollout(prompt, (40, 41 + i // 2, *ids), float(r) - 0.4)
            for prompt, completions, rewards in GROUPS
            for i, (ids, r) in enumerate(zip(completions, rewards))
        ]
        split: dict[str, Any] = {"micro_batch": micro_batch, "gradient_accumulation_steps": accumulation}
        windows, changes = run_async_grpo(tiny_policy(VOCABULARY), rollouts, learning_rate=0.1, **BETWEEN, **split)
        rows, advantages = [(*r.prompt, *r.completion) for r in rollouts], [r.advantage for r in rollouts]
        given = rows, advantages, BETWEEN["epsilon"], BETWEEN["epsilon_high"]
        found, apart = of_async_grpo(windows, *given)
        run = ObjectiveRun(found, changes, apart=apart)
        if accumulation > 1:
            run.documented, run.known = of_async_grpo(windows, *given, whole=True)[0], BY_ITSELF
        return run

    return run


RUNS: tuple[tuple[str, bool, Run], ...] = (
    ("Async GRPO", False, rolled_out(4, 1)),
    ("Async GRPO, two micro-batches", True, rolled_out(2, 2)),
)
