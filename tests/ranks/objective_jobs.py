"""TRL's trainers as one of the ranks; apart from the other jobs, since TRL takes a second to import."""

from contextlib import nullcontext

import torch
from transformers import PrinterCallback

from instrument import watch
from instrument.loops import dpo, groups, scored, sft
from instrument.loops.dpo import run_dpo
from instrument.loops.grpo import run_grpo
from instrument.loops.installed import Installed
from tests.properties.objectives import RATE, policy_and_reference
from tests.ranks.jobs import digest


def supervised(rows, seed, options):
    """What this rank ran of SFT; a row is its prompt and its completion, of which the latter is scored."""
    model, _ = policy_and_reference(False, seed)
    marks = [[0] * len(prompt) + [1] * len(completion) for prompt, completion in rows]
    ids = [(*prompt, *completion) for prompt, completion in rows]
    return sft.run_supervised(model, ids, {"completion_mask": marks}, learning_rate=RATE, **options)


def preferred(pairs, seed, options):
    """What this rank ran of DPO."""
    model, reference = policy_and_reference(options.get("peft") is not None, seed)
    return run_dpo(model, pairs, reference=reference, learning_rate=RATE, **options)


def rewarded(groups, seed, options):
    """What this rank ran of GRPO."""
    model, reference = policy_and_reference(options.get("peft") is not None, seed)
    given = reference if options["beta"] else None
    return run_grpo(model, groups, reference=given, learning_rate=RATE, **options)


RUNS = {"sft": supervised, "dpo": preferred, "grpo": rewarded}


class Through(Exception):
    """A trainer has trained, and nobody is to score its rows."""


def trained(name, given, seed, options, adapter, is_watched):
    """The record of this rank of a run that was watched with its optimizer, or None, and what the run leaves behind."""
    found = []
    plain = scored.drive

    def drive(trainer, *_):
        trainer.remove_callback(PrinterCallback)
        optimizer = trainer.create_optimizer()
        with watch(trainer.model, optimizer) if is_watched else nullcontext() as report, Installed():
            trainer.train()
        moments = [digest(value) for state in optimizer.state.values() for value in state.values()]
        left = [digest(p) for p in trainer.model.parameters()], moments, digest(torch.get_rng_state())
        found.append((report.record if is_watched else None, left))
        raise Through

    for module in (dpo, groups, scored):
        module.drive = drive
    try:
        # An adapter that each rank drew by itself would be another one.
        torch.manual_seed(seed)
        RUNS[name](given, seed, {**options, "peft": scored.lora(adapter) if adapter else None})
    except Through:
        return found[0]
    finally:
        for module in (dpo, groups, scored):
            module.drive = plain
