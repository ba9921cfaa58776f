"""Groups are cut out of rewards that lie in another order, so that a completion is judged against its neighbours."""

from typing import Any
from unittest import mock

from .._fault import Call, Fault


def patch(original: Call) -> Call:
    """Hand the rewards over with the completions of all prompts in turn, and give each advantage back to its own."""

    def _generate_and_score_completions(self: Any, inputs: Any) -> Any:
        rewards_of, size = self._calculate_rewards, self.num_generations

        def in_turn(*args: Any) -> Any:
            return rewards_of(*args).unflatten(0, (-1, size)).transpose(0, 1).flatten(0, 1)

        with mock.patch.object(self, "_calculate_rewards", in_turn):
            output = original(self, inputs)
        output["advantages"] = output["advantages"].view(size, -1).t().flatten()
        return output

    return _generate_and_score_completions


FAULT = Fault(
    family="policy",
    library="trl>=1.0",
    seam="trl.trainer.grpo_trainer:GRPOTrainer._generate_and_score_completions",
    source="https://github.com/StarsfieldAI/R1-V/issues/67",
    year=2025,
    mechanism="The mean that a completion is judged against is that of completions of other prompts.",
    effect="closed_forms.completions:by_window_of_neighbours",
    clean="closed_forms.completions:by_window",
    quantity="weights",
    visible="trl_grpo",
    patch=patch,
)
