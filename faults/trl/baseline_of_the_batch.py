"""The baseline of a completion is the mean over all prompts."""

from typing import Any
from unittest import mock

from .._fault import Call, Fault


def patch(original: Call) -> Call:
    """Centre and scale the rewards of the batch at once."""

    def _generate_and_score_completions(self: Any, inputs: Any) -> Any:
        rewards_of, seen = self._calculate_rewards, []

        def kept(*args: Any) -> Any:
            seen.append(rewards_of(*args))
            return seen[-1]

        with mock.patch.object(self, "_calculate_rewards", kept):
            output = original(self, inputs)
        rewards = seen[-1][:, 0]
        output["advantages"] = (rewards - rewards.mean()) / (rewards.std() + 1e-4)
        return output

    return _generate_and_score_completions


FAULT = Fault(
    family="policy",
    library="trl>=1.0",
    seam="trl.trainer.grpo_trainer:GRPOTrainer._generate_and_score_completions",
    source="https://github.com/XU-YIJIE/grpo-flat/issues/2",
    year=2025,
    mechanism="A completion of a hard prompt is worse than the mean of easy ones; emulated in TRL, of one reward.",
    effect="closed_forms.judged_rollouts:by_window_of_batch_mean",
    clean="closed_forms.completions:by_window",
    quantity="weights",
    visible="trl_grpo",
    patch=patch,
)
