"""trl.experimental's real AsyncGRPOTrainer, driven on given rollouts; its attention kernel is emulated on a CPU."""

import copy
import importlib
import tempfile
from collections.abc import Sequence
from importlib.metadata import version
from itertools import pairwise
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
import torch
from datasets import Dataset
from transformers import PrinterCallback

from ..locate import locate
from ..objective_record import Taught
from .arguments import CHANGES as COMMON
from .async_distillation import SAMPLE, SPEED, NoTransfer, Worker
from .installed import Installed
from .reference_free import experimental
from .refused import per_generation, refuse_unknown_words
from .scored import (
    Snapshots,
    copy_with,
    log_probabilities,
    looked_up,
    peft_config_of,
    settings,
    tokenizer_of_words,
    words,
)
from .stand_in import StandIn
from .taught import logits_of

KERNEL = "_flash_attn"
CHANGES = {
    **COMMON,
    "rollout_worker": "an emulation: hands over the given completions, advantages and log-probabilities; vLLM is "
    "not installed, so what TRL's own worker makes of rewards is not seen",
    "weight_transfer": "none: no server holds the policy",
    KERNEL: "an emulation: the kernel of tree_fa3 runs on a GPU alone, and torch's own attention answers in its place",
    SPEED: "gives None, which says that it is not known: it asks for a GPU, for the log alone",
    "token_budget": "0: per_device_train_batch_size completions per backward",
    "max_staleness": "as many as there are completions, since all are of the first policy",
}


class Rollout(NamedTuple):
    """prompt, completion: ids; advantage: what the worker made of the rewards."""

    prompt: Sequence[int]
    completion: Sequence[int]
    advantage: float


def run_async_grpo(
    model: Any, rollouts: Sequence[Rollout], *, peft: Any = None, micro_batch: int, **arguments: Any
) -> tuple[list[list[Taught]], dict[str, str]]:
    """Train once on each rollout, in their order; the trainer loads the policy from where it is saved for it.

    Args:
        model: the policy, which generated all of them.
        rollouts: as many as fill all windows; none twice, and none the beginning of another.
        peft: configuration of an adapter; one that is 0 at first, since the model generated without it.
        micro_batch: completions per backward.
        arguments: further AsyncGRPOConfig, over the ones in CHANGES.

    Returns:
        [window][micro-batch], whose teacher is the policy itself, and the changes from the defaults.

    Raises:
        ValueError: rollouts without a token, twice, or the beginning of another; as many as leave a window half full;
            or what AsyncGRPOConfig refuses.
        LookupError: what is installed has no such trainer, or none of the parts that it is handed.
    """
    kind, config = experimental("async_grpo", "AsyncGRPO")
    module = importlib.import_module("trl.experimental.async_grpo.async_rollout_worker")
    sample = getattr(module, SAMPLE, None)
    if sample is None:
        raise LookupError(f"trl {version('trl')}: {module.__name__} has no {SAMPLE}, to hand completions over")
    taken = per_generation(micro_batch, arguments)
    script = scripted(rollouts, model)
    if len(rollouts) % taken or not rollouts:
        raise ValueError(f"a step takes {taken} rollouts, got {len(rollouts)}: give as many as fill all steps")
    first, groups = copy.deepcopy(model), list(dict.fromkeys(tuple(rollout.prompt) for rollout in rollouts))
    asked = first if peft is None else copy_with(first, peft)
    old = log_probabilities(first, [np.array(ids) for ids in script], {}).log_p
    samples = [
        sample(
            prompt=[],
            completion=[],
            input_ids=np.array(ids),
            completion_mask=np.arange(len(ids)) >= len(rollout.prompt),
            old_log_probs=np.append(0.0, log_p),
            advantage=rollout.advantage,
            model_version=1,
            group_id=groups.index(tuple(rollout.prompt)),
            metrics={},
        )
        for ids, rollout, log_p in zip(script, rollouts, old)
    ]
    package = "trl.experimental.async_grpo."
    with (
        tempfile.TemporaryDirectory() as folder,
        Installed(),
        StandIn(package + "async_grpo_trainer", SPEED, lambda *_: None),
        StandIn(package + "packing", KERNEL, lambda: SimpleNamespace(flash_attn_varlen_func=attention)),
    ):
        model.save_pretrained(folder)
        trainer = kind(
            folder,
            args=settings(
                config,
                folder,
                per_device_train_batch_size=micro_batch,
                max_steps=len(rollouts) // taken,
                token_budget=0,
                max_staleness=len(rollouts),
                model_init_kwargs={"dtype": model.dtype},
                **arguments,
            ),
            train_dataset=Dataset.from_list([{"prompt": words(prompt)} for prompt in groups]),
            processing_class=tokenizer_of_words(model.config.vocab_size, "left"),
            # The loader fetches a batch more than it hands out.
            rollout_worker=Worker([*samples, *samples[:micro_batch]]),
            weight_transfer=NoTransfer(),
            **peft_config_of(peft),
        )
        windows = gathered(trainer, asked, script, old)
    return windows, dict(CHANGES)


def scripted(rollouts: Sequence[Rollout], model: Any) -> dict[tuple[int, ...], tuple[int, Sequence[bool]]]:
    """Ids of each rollout, to its number and which tokens behind the first one are trained.

    Raises:
        ValueError: as ``run_async_grpo`` says.
    """
    rows = [(*rollout.prompt, *rollout.completion) for rollout in rollouts]
    refuse_unknown_words(rows, model)
    for row, rollout in zip(rows, rollouts):
        begins = sum(other[: len(row)] == row for other in rows)
        if begins > 1 or not len(rollout.prompt) or not len(rollout.completion):
            raise ValueError(
                f"rollouts need a prompt and a completion, none where another begins alike, got {list(row)}"
            )
    marks = [np.arange(1, len(row)) >= len(rollout.prompt) for row, rollout in zip(rows, rollouts)]
    return {row: (number, mark.tolist()) for number, (row, mark) in enumerate(zip(rows, marks))}


def gathered(trainer: Any, asked: Any, script: Any, old: Sequence[Any]) -> list[list[Taught]]:
    """Train, and gather [window][micro-batch]; asked: a model whose attention needs no tree, of the same parameters."""
    snapshots, read = Snapshots(), []

    def take(base: Any, args: Any, inputs: dict[str, Any], output: Any) -> None:
        hidden = output.last_hidden_state
        hidden.register_hook(lambda gradient: read.append((len(snapshots.windows), inputs, gradient.double())))

    trainer.remove_callback(PrinterCallback)
    trainer.add_callback(snapshots)
    handle = locate(trainer.model).read_point.register_forward_hook(take, with_kwargs=True)
    trainer.train()
    handle.remove()
    if not read:
        raise LookupError(f"trl {version('trl')}: AsyncGRPOTrainer brings no gradient to last_hidden_state")
    windows: list[list[Taught]] = [[] for _ in snapshots.windows]
    for number, inputs, gradient in read:
        places, parameters = paths(inputs), snapshots.windows[number]
        rows = [inputs["input_ids"][0, place].numpy() for place in places]
        found = looked_up(rows, script)
        logits = [logits_of(asked, row, parameters) for row in rows]
        now = log_probabilities(asked, rows, parameters).log_p
        head = parameters.get("lm_head.weight", asked.lm_head.weight).detach().double().numpy()
        windows[number].append(
            Taught(
                np.array([n for n, _ in found]),
                [np.array(marks) for _, marks in found],
                [row[1:] for row in rows],
                [-gradient[0, place][:-1].numpy() for place in places],
                logits,
                logits,
                head,
                [p - old[n] for p, (n, _) in zip(now, found)],
            )
        )
    return windows


def paths(inputs: dict[str, Any]) -> list[torch.Tensor]:
    """[b] where the tokens of each rollout stand in a row that holds what they share once.

    A rollout ends where no other goes on, so it is a path of the tree that is the beginning of no other path.
    """
    cuts = inputs["tree_cu_seqlens_k"].tolist()
    found = [inputs["tree_kv_index"][start:end] for start, end in pairwise(cuts)]
    inner = {tuple(path[:n].tolist()) for path in found for n in range(len(path))}
    return [path for path in found if tuple(path.tolist()) not in inner]


def attention(
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    cu_seqlens_q: torch.Tensor,
    cu_seqlens_k: torch.Tensor,
    max_seqlen_q: int,
    max_seqlen_k: int,
    softmax_scale: float | None = None,
    causal: bool = True,
    window_size: tuple[int, int] = (-1, -1),
) -> torch.Tensor:
    """[n, head, d] what flash attention's kernel for rows of several lengths would give: emulates it.

    Each piece of the queries reads its own piece of keys and values, whose last stands at the last query; a query reads
    none behind its own. As its documentation says: https://github.com/Dao-AILab/flash-attention.

    Raises:
        NotImplementedError: attention that is not causal, or reaches a window back.
    """
    if not causal or tuple(window_size) != (-1, -1):
        raise NotImplementedError(f"emulated are causal attentions over the whole, got {causal=}, {window_size=}")
    out = []
    for q, k in zip(pairwise(cu_seqlens_q), pairwise(cu_seqlens_k)):
        queries, keys, values = (x[slice(*ends)].transpose(0, 1) for x, ends in ((query, q), (key, k), (value, k)))
        seen = torch.ones(queries.shape[1], keys.shape[1], dtype=torch.bool).tril(keys.shape[1] - queries.shape[1])
        out.append(
            torch.nn.functional.scaled_dot_product_attention(
                queries, keys, values, attn_mask=seen, scale=softmax_scale, enable_gqa=True
            ).transpose(0, 1)
        )
    return torch.cat(out)
