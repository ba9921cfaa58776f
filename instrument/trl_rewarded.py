"""The trainers of trl.experimental that learn from rewards in their own way, on the report's rows."""

from typing import Any

from .objective_a2po import of_a2po
from .objective_policy import Options
from .objective_record import ObjectiveRun
from .objective_sampled import of_sampled
from .objective_sdpo import documented_sdpo, of_sdpo
from .tiny import tiny_policy
from .trl_rows import GROUPS, VOCABULARY
from .trl_rows import groups as all_groups
from .trl_rows import rewards as all_rewards
from .trl_runs import Run, beside

# Rewards of three samples of the reference for each prompt; the third prompt's are all 0, so that it is left out.
VALUES = ((1.0, 0.0, 0.0), (1.0, 1.0, 0.0), (0.0, 0.0, 0.0), (0.0, 1.0, 0.0))
REWARDS = (1.0, 0.0, 1.0, 1.0)
COMPLETIONS = [ids for _, completions, _ in GROUPS for ids in completions]


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


def taught_by_success(weight: float, known: str = "", **options: Any) -> Run:
    """SDPOTrainer with distillation_weight; options: of its policy's loss."""

    def run() -> ObjectiveRun:
        from .loops.groups import Group
        from .loops.sdpo import run_sdpo

        # Generation would not end the shorter ones without their end of sequence.
        groups = [
            Group(
                prompt,
                [ids if len(ids) == 4 or ids[-1] == 2 else (*ids, 2) for ids in completions],
                [[r] for r in given],
            )
            for prompt, completions, given in GROUPS
        ]
        split: dict[str, Any] = {"micro_batch": 2, "gradient_accumulation_steps": 2, "num_iterations": 2}
        driven, taught = run_sdpo(
            tiny_policy(VOCABULARY), groups, distillation_weight=weight, learning_rate=0.1, **options, **split
        )
        found = driven, [reward for group in groups for reward in group.rewards], 2
        closed = Options(**options, steps_per_generation=2)
        if not known:
            return beside(driven, of_sdpo(*found, closed, taught, weight))
        return beside(
            driven, of_sdpo(*found, closed, taught, weight), documented_sdpo(*found, closed, taught, weight), known
        )

    return run


def elsewhere(mode: str, loss_type: str) -> Run:
    """GRPOTrainer with the correction for another sampler, which drifts by up to 2 nats at a token."""

    def run() -> ObjectiveRun:
        from .loops.sampled import run_sampled

        drift = [[(number + n) % 5 - 2.0 for n, _ in enumerate(ids)] for number, ids in enumerate(COMPLETIONS)]
        options: dict[str, Any] = {"loss_type": loss_type, "epsilon_high": 2.0}
        asked: dict[str, Any] = {"vllm_importance_sampling_mode": mode, "vllm_importance_sampling_clip_min": 0.25}
        split: dict[str, Any] = {"micro_batch": 2, "gradient_accumulation_steps": 2, "num_iterations": 2}
        driven = run_sampled(
            tiny_policy(VOCABULARY), all_groups(), drift, learning_rate=0.05, **options, **asked, **split
        )
        closed = Options(**options, steps_per_generation=2)
        return beside(driven, of_sampled(driven, all_rewards(), 2, closed, drift, mode, 0.25))

    return run


LOCAL = "dapo averages each micro-batch by itself, as bnpo does, and not over the window's tokens"
NOT_ALONE = "advantages that should not be scaled are divided by 1.0001"
RUNS: tuple[tuple[str, bool, Run], ...] = (
    ("A*-PO", False, regressed),
    ("Another sampler, token_truncate", False, elsewhere("token_truncate", "dapo")),
    ("Another sampler, token_mask", False, elsewhere("token_mask", "grpo")),
    ("Another sampler, sequence_truncate", False, elsewhere("sequence_truncate", "cispo")),
    ("Another sampler, sequence_mask", False, elsewhere("sequence_mask", "sapo")),
    ("SDPO", False, taught_by_success(1.0)),
    ("SDPO mixed with grpo", False, taught_by_success(0.25, loss_type="grpo")),
    ("SDPO mixed with dapo", True, taught_by_success(0.25, LOCAL, loss_type="dapo")),
    ("SDPO, rewards not scaled", True, taught_by_success(0.0, NOT_ALONE, loss_type="grpo", scale_rewards="none")),
)
