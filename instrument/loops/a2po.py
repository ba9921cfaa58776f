"""trl.experimental's real A2POTrainer, driven on given completions, samples of the reference, and their rewards."""

import copy
import tempfile
from collections.abc import Sequence
from importlib.metadata import version
from typing import Any, NamedTuple

import numpy as np
from datasets import Dataset

from ..objective_record import Driven
from ..probe import EOS
from .generation import CHANGE, generating
from .groups import CHANGES as COMMON
from .installed import Installed
from .reference_free import experimental
from .scored import Ids, Script, Snapshots, drive, settings, tokenizer_of_words, words

CHANGES = {
    **{name: change for name, change in COMMON.items() if name not in ("shuffle_dataset", "reference")},
    **CHANGE,
}


class Valued(NamedTuple):
    """What is known of one prompt.

    Attributes:
        prompt, completion: ids, as the policy generates them.
        reward: of the completion.
        samples: [i] ids that the reference generates; one that is the completion has its reward.
        values: [i] rewards of these.
    """

    prompt: Sequence[int]
    completion: Sequence[int]
    reward: float
    samples: Sequence[Sequence[int]]
    values: Sequence[float]


def run_a2po(model: Any, prompts: Sequence[Valued], *, micro_batch: int, **arguments: Any) -> Driven:
    """Train for one epoch; the reference is the policy as it was.

    Args:
        model: the policy.
        prompts: with as many samples each; no prompt twice.
        micro_batch: completions per backward.
        arguments: further A2POConfig, over the ones in CHANGES.

    Returns:
        The run, without the prompts whose samples all have the reward 0, which TRL leaves out unless told otherwise.

    Raises:
        ValueError: a part without a token, a prompt twice, samples or rewards of another number, a reward that is
            not finite, a completion that
            generation would not end, or what A2POConfig refuses.
        LookupError: what is installed has no such trainer, or it keeps its reference elsewhere.
    """
    trainer, config = experimental("a2po", "A2PO")
    script, rewards = scripted(prompts)

    def reward(prompts: list[str], completions: list[str], **_: Any) -> list[float]:
        return [rewards[prompt, completion] for prompt, completion in zip(prompts, completions)]

    policy = generating({tuple(p.prompt): [p.completion] for p in prompts})
    sampler = generating({tuple(p.prompt): p.samples for p in prompts})
    with tempfile.TemporaryDirectory() as folder, Installed():
        built = trainer(
            model=model,
            reward_funcs=reward,
            args=settings(
                config,
                folder,
                per_device_train_batch_size=micro_batch,
                num_value_samples=len(prompts[0].samples),
                **arguments,
            ),
            train_dataset=Dataset.from_list([{"prompt": words(p.prompt)} for p in prompts]),
            processing_class=tokenizer_of_words(model.config.vocab_size, "left"),
        )
        if getattr(built, "ref_model", None) is None:
            raise LookupError(f"trl {version('trl')}: A2POTrainer has no ref_model, which its samples are asked of")
        reference = copy.deepcopy(model)
        built.model.generate, built.ref_model.generate = policy, sampler
        driven = drive(built, script, Snapshots(), reference)
    driven.record.changes.update(CHANGES)
    return driven


def scripted(prompts: Sequence[Valued]) -> tuple[Script, dict[tuple[str, str], float]]:
    """What may run, by its ids, and the rewards by the texts that TRL asks with, which have no end of sequence."""
    script: dict[Ids, tuple[int, Sequence[bool]]] = {}
    rewards: dict[tuple[str, str], float] = {}
    sizes = {len(found) for p in prompts for found in (p.samples, p.values)}
    if len({tuple(p.prompt) for p in prompts}) != len(prompts) or len(sizes) != 1 or 0 in sizes:
        raise ValueError(
            f"prompts need as many samples as rewards, the same number each, and none may stand twice, got {prompts!r}"
        )
    for number, (prompt, completion, reward, samples, values) in enumerate(prompts):
        if not len(prompt) or not all(len(ids) for ids in (completion, *samples)):
            raise ValueError(f"prompts and completions need a token, got {prompts[number]!r}")
        if not all(isinstance(r, int | float) and np.isfinite(r) for r in (reward, *values)):
            raise ValueError(f"rewards must be finite numbers, got {prompts[number]!r}")
        script[(*prompt, *completion)] = (
            number,
            [n >= len(prompt) - 1 for n in range(len(prompt) + len(completion) - 1)],
        )
        for ids, r in zip((*samples, completion), (*values, reward)):
            rewards[words(prompt), words([i for i in ids if i != EOS])] = r
    return script, rewards
