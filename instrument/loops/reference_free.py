"""trl.experimental's real CPOTrainer, ORPOTrainer and TPOTrainer, driven on given pairs."""

import importlib
import importlib.util
import os
import tempfile
from collections.abc import Sequence
from importlib.metadata import version
from typing import Any

from datasets import Dataset

from ..objective_record import Driven
from ..probe import EOS
from .dpo import Pair
from .installed import Installed
from .scored import CHANGES, Snapshots, drive, peft_config_of, settings, tokenizer_of_words, words

Triple = tuple[Sequence[int], Sequence[int], Sequence[int], Sequence[int]]
SIDES = ("chosen", "rejected")


def run_cpo(model: Any, pairs: Sequence[Pair], *, peft: Any = None, micro_batch: int, **arguments: Any) -> Driven:
    """Train for one epoch; SimPO and AlphaPO are options of CPO.

    Args:
        model: the policy.
        pairs: prompt, chosen and rejected ids; no row twice. TRL puts the end of sequence behind each completion.
        peft: configuration of an adapter.
        micro_batch: pairs per backward.
        arguments: further CPOConfig, over the ones in CHANGES.

    Returns:
        The run; number 2 p is the chosen row of pair p, 2 p + 1 the rejected. The completions are scored.

    Raises:
        ValueError: no pair, a pair without a token, a row twice, an unknown id or loss, or what CPOConfig refuses.
        LookupError: what is installed has no such trainer.
    """
    return run("cpo", "CPO", model, pairs, SIDES, False, peft, micro_batch, arguments)


def run_orpo(model: Any, pairs: Sequence[Pair], *, peft: Any = None, micro_batch: int, **arguments: Any) -> Driven:
    """As ``run_cpo``, with ORPOTrainer; the prompts of the chosen rows are scored too."""
    return run("orpo", "ORPO", model, pairs, SIDES, True, peft, micro_batch, arguments)


def run_tpo(model: Any, triples: Sequence[Triple], *, peft: Any = None, micro_batch: int, **arguments: Any) -> Driven:
    """As ``run_cpo``, with TPOTrainer: a gold completion stands behind each pair, which has the numbers 3 p to 3 p + 2.

    A micro-batch holds all chosen rows above all rejected above all gold ones; with tpo_alpha = 0 no gold one runs.
    """
    return run("tpo", "TPO", model, triples, (*SIDES, "reference"), False, peft, micro_batch, arguments)


def run(
    module: str,
    name: str,
    model: Any,
    pairs: Sequence[Pair] | Sequence[Triple],
    columns: Sequence[str],
    with_prompts: bool,
    peft: Any,
    micro_batch: int,
    arguments: dict[str, Any],
) -> Driven:
    """Train with trl.experimental.<module>.<name>Trainer.

    Args:
        columns: the names that it has for the completions behind a prompt.
        with_prompts: those of the chosen rows are scored.
    """
    trainer, config = experimental(module, name)
    script = {}
    for p, (prompt, *sides) in enumerate(pairs):
        for side, completion in enumerate(sides):
            marks = [with_prompts and side == 0] * (len(prompt) - 1) + [True] * (len(completion) + 1)
            script[(*prompt, *completion, EOS)] = (len(columns) * p + side, marks)
    if not script or len(script) != len(columns) * len(pairs) or not all(len(part) for pair in pairs for part in pair):
        number = {2: "two", 3: "three"}[len(columns)]
        raise ValueError(f"pairs need a prompt and {number} completions, no row twice, got {list(pairs)!r}")
    table = [
        {"prompt": words(prompt), **{name: f" {words(ids)}" for name, ids in zip(columns, sides)}}
        for prompt, *sides in pairs
    ]
    with tempfile.TemporaryDirectory() as folder, Installed():
        built = trainer(
            model=model,
            args=settings(config, folder, per_device_train_batch_size=micro_batch, **arguments),
            train_dataset=Dataset.from_list(table),
            processing_class=tokenizer_of_words(model.config.vocab_size),
            **peft_config_of(peft),
        )
        driven = drive(built, script, Snapshots(), None)
    driven.record.changes.update(CHANGES)
    return driven


def experimental(module: str, name: str) -> tuple[Any, Any]:
    """The trainer and the config class of a module of trl.experimental, or of trl itself in releases before it.

    Raises:
        LookupError: what is installed has no such module or class.
    """
    # TRL warns that all of it may change.
    os.environ["TRL_EXPERIMENTAL_SILENCE"] = "1"
    try:
        older = importlib.util.find_spec("trl.experimental") is None
        home = importlib.import_module("trl" if older else f"trl.experimental.{module}")
        return getattr(home, f"{name}Trainer"), getattr(home, f"{name}Config")
    except (ImportError, AttributeError) as missing:
        raise LookupError(
            f"trl {version('trl')}: no {name}Trainer in trl.experimental.{module} ({missing})"
        ) from missing
