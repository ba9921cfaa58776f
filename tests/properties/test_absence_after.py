"""R12: with the optimizer watched too, training is bitwise the training without it."""

import contextlib
import warnings

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from transformers import Trainer, TrainingArguments

from instrument import watch
from instrument.loops.arguments import of_trainer
from instrument.loops.data import Rows, padding_collator
from tests.instrument import models
from tests.properties.loops import labels_of, live_model, live_rows
from tests.properties.test_absence import assert_same, state
from tests.properties.updates import OPTIMIZERS, backward_of, batches_of
from tests.strategies import shapes

few = settings(max_examples=max(2, settings.default.max_examples // 12))


def by_hand(model, shape, kind):
    """Two epochs, clipped."""
    optimizer = OPTIMIZERS[kind]([p for p in model.parameters() if p.requires_grad])

    def train():
        for window in 2 * batches_of(shape):
            backward_of(model, window)
            torch.nn.utils.clip_grad_norm_(model.parameters(), 0.5)
            optimizer.step()
            optimizer.zero_grad()

    return optimizer, train


def in_bfloat16(model, shape, kind):
    """As by_hand, under autocast."""
    optimizer, train = by_hand(model, shape, kind)
    return optimizer, torch.autocast("cpu", torch.bfloat16)(train)


def checkpointed(reentrant):
    """A model whose blocks are run again in backward."""

    def make(seed):
        model = live_model(seed)
        # A model warns of its own outdated name.
        with warnings.catch_warnings(action="ignore", category=FutureWarning):
            model.gradient_checkpointing_enable({"use_reentrant": reentrant})
        return model.train()

    return make


def by_evaluating_trainer(model, shape, kind):
    """As by_trainer, evaluated behind each step."""
    return by_trainer(model, shape, kind, eval_strategy="steps", eval_steps=1)


def by_trainer(model, shape, kind, **more):
    """The Trainer's own optimizer."""
    rows = live_rows(shape.lengths, shape.seed)
    settings = {
        "per_device_train_batch_size": shape.micro_batch,
        "gradient_accumulation_steps": shape.accumulation,
        "remove_unused_columns": False,
        "learning_rate": 1e-2,
        "optim": kind,
        **more,
    }
    trainer = Trainer(
        model=model,
        args=of_trainer(TrainingArguments, ".", **settings),
        train_dataset=Rows(rows, labels_of(rows, shape.labelled)),
        eval_dataset=Rows(rows, None) if more else None,
        data_collator=padding_collator("right", 0),
    )
    return trainer.create_optimizer(), trainer.train


CASES = {
    "by hand, AdamW": (live_model, by_hand, "AdamW"),
    "by hand, SGD": (live_model, by_hand, "SGD with Nesterov"),
    "by hand, fused": (live_model, by_hand, "fused AdamW"),
    "by hand, LoRA": (lambda seed: models.with_lora(seed), by_hand, "AdamW"),
    "by hand, autocast": (live_model, in_bfloat16, "AdamW"),
    "by hand, checkpointed": (checkpointed(False), by_hand, "AdamW"),
    "by hand, checkpointed reentrantly": (checkpointed(True), by_hand, "AdamW"),
    "Trainer, evaluating": (live_model, by_evaluating_trainer, "adamw_torch"),
    "Trainer": (live_model, by_trainer, "adamw_torch"),
    "Trainer, LoRA": (lambda seed: models.with_lora(seed), by_trainer, "adamw_torch_fused"),
}


@pytest.mark.parametrize("case", CASES)
@few
@given(shape=shapes(max_rows=4))
def test_watching_the_optimizer_changes_nothing(case, shape):
    make, loop, kind = CASES[case]
    states = []
    for watched in (False, True):
        model = make(shape.seed)
        torch.manual_seed(shape.seed)
        optimizer, train = loop(model, shape, kind)
        with watch(model, optimizer) if watched else contextlib.nullcontext():
            train()
        moments = {str(k): dict(v) for k, v in optimizer.state_dict()["state"].items()}
        kept = {name: len(p._backward_hooks or ()) for name, p in model.named_parameters()}
        hooks = [len(x) for x in (optimizer._optimizer_step_pre_hooks, optimizer._optimizer_step_post_hooks)]
        states.append({**state(model), "moments": moments, "kept": kept, "optimizer": hooks})

    assert_same(*states)


@few
@given(seed=st.integers(0, 2**16))
def test_dropout_draws_the_same_numbers(seed):
    drawn = []
    for watched in (False, True):
        model = models.with_lora(seed, lora_dropout=0.5)
        model.train()
        optimizer = torch.optim.SGD([p for p in model.parameters() if p.requires_grad], lr=0.1)
        torch.manual_seed(seed)
        with watch(model, optimizer) if watched else contextlib.nullcontext():
            ids = torch.tensor(live_rows([6, 6], seed))
            for _ in range(2):
                model(input_ids=ids, labels=ids).loss.backward()
                optimizer.step()
                optimizer.zero_grad()
        drawn.append({"next": torch.rand(3), **state(model)})

    assert_same(*drawn)
