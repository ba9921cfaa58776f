"""TRL's real GRPOTrainer, driven on completions that another program is said to have drawn."""

import inspect
from collections.abc import Callable, Sequence
from importlib.metadata import version
from types import SimpleNamespace
from typing import Any

import numpy as np
from trl import GRPOConfig, GRPOTrainer

from ..objective_record import Driven
from .groups import Group
from .grpo import run_like_grpo
from .scored import Ids, log_probabilities, trained

CHANGES = {
    "use_vllm": "True behind the construction, with nothing behind it: the loss corrects, and nothing is generated",
    "logprobs": "those of the policy that generates, and the given drift of each token",
}


def run_sampled(
    model: Any,
    groups: Sequence[Group],
    drift: Sequence[Sequence[float]],
    *,
    peft: Any = None,
    micro_batch: int,
    **arguments: Any,
) -> Driven:
    """As ``run_grpo``, with the correction for another sampler, whose name is vllm_importance_sampling_mode.

    Args:
        drift: [number][n] by how much the sampler's log-probability of each token is above the policy's.

    Raises:
        ValueError: a drift for another number of tokens, or what ``run_grpo`` refuses.
        LookupError: the installed release takes no log-probabilities of another sampler.
    """
    if "rollout_func" not in inspect.signature(GRPOTrainer.__init__).parameters:
        raise LookupError(
            f"trl {version('trl')}: GRPOTrainer takes no rollout_func, which brings a sampler's log-probabilities"
        )
    rows = [(*group.prompt, *ids) for group in groups for ids in group.completions]
    sizes = [len(ids) for group in groups for ids in group.completions]
    if [len(of) for of in drift] != sizes:
        raise ValueError(f"drift needs a number for each token of each completion, {sizes}, got {drift!r}")
    above = dict(zip(rows, drift))

    class Sampled(GRPOTrainer):  # type: ignore[misc]
        """The trainer itself, told of the sampler's log-probabilities."""

        def __init__(self, rollout_func: Callable[..., dict[str, Any]], **given: Any) -> None:
            super().__init__(rollout_func=scored_by(above, rollout_func), **given)
            self.use_vllm, self.vllm_mode = True, "server"
            self.vllm_generation = SimpleNamespace(sync_weights=lambda: None)
            self._last_loaded_step = -1

    driven = run_like_grpo(
        Sampled, GRPOConfig, model, groups, reference=None, peft=peft, micro_batch=micro_batch, **arguments
    )
    driven.record.changes.update(CHANGES)
    return driven


def scored_by(
    above: dict[Ids, Sequence[float]], rollout: Callable[..., dict[str, Any]]
) -> Callable[..., dict[str, Any]]:
    """The same rollout with the log-probabilities of a sampler that drifted."""

    def rolled(prompts: list[str], trainer: Any) -> dict[str, Any]:
        given = rollout(prompts, trainer)
        rows = [(*prompt, *ids) for prompt, ids in zip(given["prompt_ids"], given["completion_ids"])]
        own = log_probabilities(trainer.model, [np.array(row) for row in rows], trained(trainer.model)).log_p
        return {**given, "logprobs": [(p[-len(above[row]) :] + above[row]).tolist() for p, row in zip(own, rows)]}

    return rolled
