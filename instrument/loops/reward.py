"""TRL's real RewardTrainer, driven on given pairs, and what it gives each reward."""

import inspect
import tempfile
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from datasets import Dataset
from transformers import PrinterCallback
from trl import RewardConfig, RewardTrainer

from ..capture import Capture, Replay
from ..captured import CapturedWindow
from ..objective_record import Rewarded
from ..readout import read_weights
from ..record import Floats
from .arguments import in_order
from .installed import Installed
from .refused import refuse_half, refuse_unknown_words
from .scored import CHANGES as COMMON
from .scored import Parameters, Snapshots, peft_config_of, settings, tokenizer_of_words

CHANGES = {**COMMON, "model": "float64"}
Pair = tuple[Sequence[int], Sequence[int]]


def run_reward(
    model: Any,
    pairs: Sequence[Pair],
    *,
    margins: Sequence[float] | None = None,
    peft: Any = None,
    micro_batch: int,
    **arguments: Any,
) -> tuple[list[list[Rewarded]], dict[str, str]]:
    """Train for one epoch.

    Args:
        model: a sequence classifier with one output.
        pairs: chosen and rejected ids; no row twice.
        margins: [p] by which the chosen reward should lie above.
        peft: configuration of an adapter.
        micro_batch: pairs per backward.
        arguments: further RewardConfig, over the ones in CHANGES.

    Returns:
        [window][micro-batch], and the changes from the defaults.

    Raises:
        ValueError: a model with another head; margins of another number; no rows, or rows given twice, empty or with
            an unknown id; bfloat16.
    """
    script = {tuple(ids): 2 * p + side for p, pair in enumerate(pairs) for side, ids in enumerate(pair)}
    odd = margins is not None and len(margins) != len(pairs)
    if not script or len(script) != 2 * len(pairs) or () in script or odd:
        raise ValueError(f"pairs need two rows, no row twice, and one margin each, got {list(pairs)!r} and {margins!r}")
    if getattr(model.config, "num_labels", 0) != 1 or not hasattr(model, "score"):
        raise ValueError(f"a reward model has one output called score, got {type(model).__name__}: num_labels=1")
    refuse_unknown_words(script, model)
    source = inspect.getsource(RewardTrainer)
    # Later releases know both names, and warn of the older one.
    tail = "ids" if '"chosen_ids"' in source else "input_ids"
    table: list[dict[str, Any]] = [{f"chosen_{tail}": list(c), f"rejected_{tail}": list(r)} for c, r in pairs]
    if "input_ids_chosen" in source:
        names = [(f"input_ids_{side}", f"attention_mask_{side}") for side in ("chosen", "rejected")]
        table = [{k: v for n, ids in zip(names, pair) for k, v in zip(n, (ids, [1] * len(ids)))} for pair in pairs]
    if margins is not None:
        table = [{**row, "margin": float(margin)} for row, margin in zip(table, margins)]
    read: list[list[tuple[Any, Any, Floats, Floats]]] = []
    snapshots = Snapshots()
    with tempfile.TemporaryDirectory() as folder, Installed():
        trainer = RewardTrainer(
            model=model,
            args=settings(RewardConfig, folder, per_device_train_batch_size=micro_batch, **arguments),
            train_dataset=Dataset.from_list(table),
            processing_class=tokenizer_of_words(model.config.vocab_size),
            **peft_config_of(peft),
        )
        refuse_half(trainer)
        in_order(trainer)
        trainer.remove_callback(PrinterCallback)
        trainer.add_callback(snapshots)

        def take(forward: Any, output: Any, gradient_bth: torch.Tensor) -> Any:
            unit_nh = (-head_of(model).weight.detach()[0]).expand_as(gradient_bth).flatten(0, 1)
            found = read_weights(gradient_bth.flatten(0, 1), unit_nh)
            shape = gradient_bth.shape[:2]
            seen = forward.index, forward.input_ids, forward.attention_mask
            return *seen, found.weight.view(shape), found.remainder.view(shape)

        def close(window: CapturedWindow) -> None:
            order = sorted({arrival.backward for arrival in window.arrivals})
            read.append([joined([a.reading for a in window.arrivals if a.backward == k]) for k in order])

        with Capture(model, model.base_model, "the final hidden states", take, close):
            trainer.train()
    windows = [
        [rewarded(trainer.model, *reading, script, parameters) for reading in window]
        for window, parameters in zip(read, snapshots.windows)
    ]
    return windows, CHANGES


def head_of(model: Any) -> Any:
    """The module that gives the reward; an adapter trains a copy of it."""
    copies = getattr(model.score, "modules_to_save", None)
    return model.score if copies is None else copies["default"]


def joined(forwards: list[tuple[int, Any, Any, Any, Any]]) -> tuple[Any, Any, Floats, Floats]:
    """Ids, mask, weight and remainder of a micro-batch; older releases run its rejected rows after the chosen ones."""
    tables = [tables for _, *tables in sorted(forwards, key=lambda forward: forward[0])]
    width = max(ids.shape[1] for ids, *_ in tables)
    wide = [[torch.nn.functional.pad(x, (0, width - x.shape[1])) for x in each] for each in tables]
    ids, mask, weight, remainder = (torch.cat(column) for column in zip(*wide))
    return ids, mask, weight.numpy(), remainder.numpy()


def rewarded(
    model: Any,
    input_ids: Any,
    mask: Any,
    weight: Floats,
    remainder: Floats,
    script: dict[Any, int],
    parameters: Parameters,
) -> Rewarded:
    """One micro-batch, its rows rewarded anew, each by itself."""
    lengths = mask.sum(1).tolist()
    rows = [ids[:n] for ids, n in zip(input_ids, lengths)]
    unknown = [row.tolist() for row in rows if tuple(row.tolist()) not in script]
    if unknown:
        raise RuntimeError(f"the trainer ran the row {unknown[0]}, which is none of the {len(script)} given ones")
    training = model.training
    model.eval()
    with Replay(), torch.no_grad():
        rewards = [
            float(torch.func.functional_call(model, parameters, (), {"input_ids": row[None]}).logits[0, 0])
            for row in rows
        ]
    model.train(training)
    numbers = [script[tuple(row.tolist())] for row in rows]
    return Rewarded(np.array(numbers), np.array(lengths) - 1, weight, remainder, np.array(rewards))
