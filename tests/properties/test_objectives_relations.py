"""R1, R3, R4, R5, R8, R15 for TRL's trainers: what leaves every weight alone, what scales it, and what the log says."""

import importlib
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from transformers.trainer_callback import CallbackHandler

from closed_forms.rounding import unit_roundoff
from instrument.loops.reference_free import experimental
from tests.properties.strategies import VOCABULARY, lengths, seeds
from tests.properties.trl_loops import CLASSES, weighed

# An example is two runs of a trainer, and there are twenty of these.
fewest = settings(max_examples=max(2, settings.default.max_examples // 25))
# Four rows, pairs, answers or completions in one window, split into micro-batches of one size.
WHOLE, HALVES = {"micro_batch": 4}, {"micro_batch": 2, "gradient_accumulation_steps": 2}
shapes = st.lists(st.tuples(lengths, lengths, lengths), min_size=4, max_size=4)
# Why the split into micro-batches is part of what a token weighs; that each weighs what its form then says is R7.
BY_MICRO_BATCH = {
    "ORPO": "the mean over the chosen tokens is one of its own in each micro-batch",
    "OnlineDPO": "the micro-batches of a window are added up (a finding)",
    "GOLD": "the window is counted again for each of its micro-batches (a finding)",
    "IW-OPD": "the window is counted again for each of its micro-batches (a finding)",
    "ServerDistillation": "each micro-batch is averaged by itself (a finding)",
    "AsyncDistillation": "each micro-batch is averaged by itself (a finding)",
}
# Those whose collator takes no width; how far a row is padded there is up to the rows beside it.
NO_WIDTH = ("CPO", "ORPO", "OnlineDPO", "AsyncDistillation", "SDFT", "SDPO", "A*-PO", "IW-OPD")
# They take SFT's option over, and pad by themselves.
NOT_LOOKED_AT = ("GKD", "GOLD")


def every_trainer(without=()):
    return pytest.mark.parametrize("name", [name for name in CLASSES if name not in without])


def differ(one, other, factor=1.0):
    """The places whose weights are not the factor times those of the other, as far as rounding lets it be told."""
    assert sorted(one) == sorted(other)
    wrong = []
    for place, (weight, allowed) in one.items():
        off, bound = np.abs(weight - factor * other[place][0]), allowed + factor * other[place][1]
        wrong += [place] * bool(np.any((off > bound) & ~np.isnan(bound)))
    return wrong


def shown(one):
    """Whether most of the weights can be told from rounding, and are not 0."""
    weight, allowed = (np.concatenate(column) for column in zip(*one.values()))
    return np.mean(np.abs(weight) > 10 * allowed) > 0.5


@every_trainer(without=BY_MICRO_BATCH)
@fewest
@given(shapes=shapes, seed=seeds)
def test_even_micro_batches_leave_every_weight_alone(name, shapes, seed):
    whole, halves = (weighed(name, shapes, seed, **split) for split in (WHOLE, HALVES))

    assert differ(whole, halves) == []
    assert shown(whole)


@pytest.mark.parametrize("name", BY_MICRO_BATCH)
def test_where_the_split_is_part_of_the_weight_it_shows(name):
    whole, halves = (
        weighed(name, [(1, 3, 1), (1, 1, 3), (1, 2, 1), (2, 3, 2)], 0, **split) for split in (WHOLE, HALVES)
    )

    assert differ(whole, halves)


@every_trainer()
@fewest
@given(shapes=shapes, split=st.sampled_from([WHOLE, HALVES]), seed=seeds)
def test_the_order_of_the_rows_leaves_every_weight_alone(name, shapes, split, seed):
    straight, turned = (weighed(name, shapes, seed, order, **split) for order in ((0, 1, 2, 3), (2, 3, 0, 1)))

    assert differ(straight, turned) == []
    assert shown(straight)


@every_trainer(without=(*NO_WIDTH, *NOT_LOOKED_AT))
@fewest
@given(shapes=shapes, width=st.sampled_from([16, 24]), seed=seeds)
def test_more_padding_leaves_every_weight_alone(name, shapes, width, seed):
    with widths() as met:
        plain, wide = (weighed(name, shapes, seed, pad_to_multiple_of=n, **HALVES) for n in (None, width))

    assert differ(plain, wide) == []
    assert shown(plain)
    # Prompts and completions are padded apart where they are generated.
    assert max(met) in (width, 2 * width)


@pytest.mark.parametrize("name", NOT_LOOKED_AT)
def test_a_width_that_is_not_looked_at_pads_nothing(name):
    with widths() as met:
        weighed(name, [(1, 1, 1)] * 4, 0, pad_to_multiple_of=16, **HALVES)

    assert max(met) < 16


@pytest.mark.parametrize("name", NO_WIDTH)
def test_a_trainer_without_a_width_knows_no_such_option(name):
    with pytest.raises(LookupError, match="knows no pad_to_multiple_of"):
        weighed(name, [(1, 1, 1)] * 4, 0, pad_to_multiple_of=16, **HALVES)


def test_padding_free_is_off_in_dpo_and_refused_by_what_has_a_collator_of_its_own():
    padded, free = (weighed("DPO", [(1, 2, 3)] * 4, 0, padding_free=on, **WHOLE) for on in (False, True))

    assert differ(padded, free) == []
    for name in ("GKD", "GOLD"):
        with pytest.raises(ValueError, match="not supported when using padding-free"):
            weighed(name, [(1, 1, 1)] * 4, 0, padding_free=True, **HALVES)


@every_trainer()
@fewest
@given(shapes=shapes, factor=st.sampled_from([0.25, 2.0, 3.0]), seed=seeds)
def test_a_factor_of_the_loss_is_one_of_every_weight(name, shapes, factor, seed):
    plain = weighed(name, shapes, seed, **HALVES)
    with scaled(name, factor) as calls:
        louder = weighed(name, shapes, seed, **HALVES)

    assert len(calls) == 2
    assert differ(louder, plain, factor) == []
    assert shown(plain)


@every_trainer()
@fewest
@given(shapes=shapes, seed=seeds)
def test_the_log_is_the_objective_that_was_differentiated(name, shapes, seed):
    # Where the policy has not moved the advantages of a group add up to 0, whatever they are multiplied by.
    again = {"num_iterations": 2, "learning_rate": 0.5} if name in ("GRPO", "GMPO", "RLOO") else {}
    with differentiated() as (objectives, logged):
        weighed(name, shapes, seed, **again, **HALVES)

    assert len(objectives) == 2 * len(logged) == 2 * (1 + bool(again))
    # OnlineDPO logs the mean of what it adds up, to four decimals; any sum is of two numbers that are float32.
    shares, rounded = (2, 0.5e-4) if name == "OnlineDPO" else (1, 0.0)
    for window, said in zip(np.reshape(objectives, (-1, 2)), logged):
        assert abs(said - window.sum() / shares) <= 4 * unit_roundoff("float32") * np.abs(window).sum() + rounded


@contextmanager
def scaled(name: str, factor: float) -> Iterator[list[int]]:
    """While entered, the loss of a trainer is that many times larger; gives a list with one entry for each loss."""
    module, kind = f"trl.{CLASSES[name]}".rsplit(".", 1)
    # Sets what keeps TRL from warning of its own experiments.
    experimental("cpo", "CPO")
    trainer, calls = getattr(importlib.import_module(module), kind), []
    with pytest.MonkeyPatch.context() as patch:
        # OnlineDPO has the loss in its step, and no function of it.
        owner, seam = (torch.Tensor, "backward") if name == "OnlineDPO" else (trainer, "compute_loss")
        original = getattr(owner, seam)

        def backward(loss, *args, **options):
            calls.append(1)
            return original(factor * loss, *args, **options)

        def compute_loss(self, *args, **options):
            calls.append(1)
            return factor * original(self, *args, **options)

        patch.setattr(owner, seam, backward if name == "OnlineDPO" else compute_loss)
        yield calls


@contextmanager
def differentiated() -> Iterator[tuple[list[float], list[float]]]:
    """While entered, keeps every number that backward is called on, and every loss that a trainer logs."""
    objectives, logged = [], []
    # What the callbacks are told is what stands in the history: behind all that Trainer.log makes of it.
    backward, log = torch.Tensor.backward, CallbackHandler.on_log

    def keep(self, *args, **options):
        objectives.append(float(self.detach()))
        return backward(self, *args, **options)

    def told(self, args, state, control, logs):
        logged.extend([logs["loss"]] if "loss" in logs else [])
        return log(self, args, state, control, logs)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(torch.Tensor, "backward", keep)
        patch.setattr(CallbackHandler, "on_log", told)
        yield objectives, logged


@contextmanager
def widths() -> Iterator[list[int]]:
    """While entered, keeps how many tokens wide the rows of each looked-up batch are."""
    met = []
    embed = torch.nn.Embedding.forward

    def keep(self, ids):
        met.extend([ids.shape[-1]] if self.num_embeddings == VOCABULARY else [])
        return embed(self, ids)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(torch.nn.Embedding, "forward", keep)
        yield met
