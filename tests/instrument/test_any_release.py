"""`watch`, `xray`, the callback and `run` on whatever transformers and torch are installed, the oldest ones too."""

import hypothesis.strategies as st
import pytest
import torch
from hypothesis import given
from transformers import PrinterCallback, Trainer, TrainingArguments

from closed_forms import aggregation
from instrument import watch
from instrument.api import expected_weights
from instrument.callback import WeighbridgeCallback
from instrument.loops.arguments import in_order, of_trainer
from tests.instrument import models
from tests.instrument.scripts import LOOP, alone, run, script

LENGTHS = st.lists(st.integers(2, 9), min_size=1, max_size=4)


def collate(rows):
    """Padded on the right; the first token has no label, since some releases count it and none scores it."""
    width = max(map(len, rows))
    ids = torch.tensor([[*row, *[0] * (width - len(row))] for row in rows])
    labels = ids.masked_fill(ids == 0, -100)
    labels[:, 0] = -100
    return {"input_ids": ids, "attention_mask": (ids > 0).long(), "labels": labels}


def trainer_of(lengths, *callbacks, steps=1):
    """A Trainer of that many optimizer steps, each of one micro-batch of rows of these lengths."""
    draw = torch.Generator().manual_seed(1)
    rows = [torch.randint(3, models.VOCABULARY, (n,), generator=draw).tolist() for n in lengths * steps]
    arguments = of_trainer(TrainingArguments, "out", per_device_train_batch_size=len(lengths))
    trainer = Trainer(
        model=models.llama(), args=arguments, train_dataset=rows, data_collator=collate, callbacks=list(callbacks)
    )
    in_order(trainer)
    trainer.remove_callback(PrinterCallback)
    return trainer


@given(lengths=LENGTHS)
def test_one_micro_batch_of_the_trainer_is_the_token_mean(lengths):
    trainer = trainer_of(lengths)
    trainer.create_optimizer()

    with watch(trainer.model, trainer.optimizer) as report:
        trainer.train()

    assert [()] == [verdict.faults for verdict in report.verdicts]
    assert report.deviation_from(expected_weights(report, aggregation.token_mean)) <= report.rounding()
    assert report.windows[0].targets() == sum(n - 1 for n in lengths)


@given(lengths=LENGTHS, every=st.integers(1, 3))
def test_the_callback_judges_each_step_that_it_was_asked_for(lengths, every):
    callback = WeighbridgeCallback(every=every)

    trainer_of(lengths, callback, steps=4).train()

    assert list(range(0, 4, every)) == list(callback.outcomes)
    assert {"OK"} == {outcome.verdict() for outcome in callback.outcomes.values()}
    assert {sum(n - 1 for n in lengths)} == {o.record.windows[-1].targets() for o in callback.outcomes.values()}


def test_training_under_the_callback_is_bitwise_what_it_is_without():
    alone, watched = trainer_of([3, 7, 5], steps=3), trainer_of([3, 7, 5], WeighbridgeCallback(every=1), steps=3)
    alone.train(), watched.train()

    for one, other in zip(alone.model.parameters(), watched.model.parameters(), strict=True):
        assert torch.equal(one, other)
    assert not watched.model._forward_hooks and not watched.model._forward_pre_hooks


@pytest.mark.parametrize(("lengths", "status"), [("(4, 8)", 1), ("(6, 6)", 0)])
def test_run_finds_the_mean_of_means_and_leaves_the_script_what_it_is(lengths, status):
    name = script(LOOP.replace("(4, 8)", lengths))

    result = run(name)

    assert result.exit_code == status
    assert ("mean-of-micro-batch-means" in result.stderr) == bool(status)
    assert alone(name) == result.stdout
