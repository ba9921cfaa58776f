"""WeighbridgeCallback measures whole windows of a real Trainer, logs numbers, and objects to a fault."""

import pytest
import torch
from transformers import PrinterCallback, Trainer, TrainerCallback

from faults import CATALOGUE, planted
from instrument.callback import WeighbridgeCallback
from instrument.loops.arguments import of_trainer
from tests.instrument import models

LENGTHS = [3, 4, 9, 8, 5, 6, 7, 9, 3, 4, 9, 8]


def collate(rows):
    width = max(map(len, rows))
    ids = torch.tensor([[*row, *[0] * (width - len(row))] for row in rows])
    return {"input_ids": ids, "attention_mask": (ids > 0).long(), "labels": ids.masked_fill(ids == 0, -100)}


def train(*callbacks):
    """Three optimizer steps of two micro-batches of two rows; the trainer."""
    from transformers import TrainingArguments

    draw = torch.Generator().manual_seed(1)
    rows = [torch.randint(3, models.VOCABULARY, (n,), generator=draw).tolist() for n in LENGTHS]
    arguments = of_trainer(TrainingArguments, "out", per_device_train_batch_size=2, gradient_accumulation_steps=2)
    trainer = Trainer(
        model=models.llama(), args=arguments, train_dataset=rows, data_collator=collate, callbacks=list(callbacks)
    )
    trainer.remove_callback(PrinterCallback)
    trainer.train()
    return trainer


def test_the_first_window_is_measured_whole():
    callback = WeighbridgeCallback()

    train(callback)

    (outcome,) = callback.outcomes.values()
    (window,) = outcome.record.windows
    assert [0] == list(callback.outcomes)
    assert (4, 2) == (len(window.rows), window.micro_batches)
    assert outcome.verdict() == "OK"


@pytest.mark.parametrize(("every", "steps"), [(0, [0]), (1, [0, 1, 2]), (2, [0, 2])])
def test_every_says_which_steps(every, steps):
    callback = WeighbridgeCallback(every=every)

    train(callback)

    assert steps == list(callback.outcomes)


def test_numbers_go_to_the_trainers_own_log():
    seen = []

    class Reader(TrainerCallback):
        def on_log(self, args, state, control, logs=None, **given):
            seen.append(dict(logs))

    trainer = train(WeighbridgeCallback(every=1), Reader())

    mine = [logs for logs in seen if "weighbridge/fault" in logs]
    assert 3 == len(mine) == sum("weighbridge/fault" in entry for entry in trainer.state.log_history)
    assert [0.0] * 3 == [logs["weighbridge/fault"] for logs in mine]
    assert mine[0]["weighbridge/lightest"] == pytest.approx(1, rel=1e-4)
    assert mine[0]["weighbridge/targets"] == sum(n - 1 for n in LENGTHS[:4])


def test_a_fault_ends_the_training():
    with (
        planted(CATALOGUE["mean_of_micro_batch_means"]),
        pytest.raises(RuntimeError, match=r"step 0: FAULT \[mean-of-micro-batch-means\].*docs/verdicts.md#mean-of"),
    ):
        train(WeighbridgeCallback())


def test_a_fault_can_be_a_warning():
    with planted(CATALOGUE["mean_of_micro_batch_means"]), pytest.warns(UserWarning, match="mean-of-micro-batch-means"):
        trainer = train(WeighbridgeCallback("warn"))

    assert 3 == trainer.state.global_step


def test_a_fault_can_be_logged_only():
    callback = WeighbridgeCallback("log")
    with planted(CATALOGUE["mean_of_micro_batch_means"]):
        trainer = train(callback)

    assert 1.0 in [entry.get("weighbridge/fault") for entry in trainer.state.log_history]
    assert callback.outcomes[0].findings[0].code == "mean-of-micro-batch-means"


def test_training_is_bitwise_what_it_is_without_it():
    alone, watched = train(), train(WeighbridgeCallback(every=1))

    for one, other in zip(alone.model.parameters(), watched.model.parameters(), strict=True):
        assert torch.equal(one, other)
    assert not watched.model._forward_hooks and not watched.model._forward_pre_hooks


@pytest.mark.parametrize(("given", "said"), [({"on_fault": "stop"}, "on_fault='stop'"), ({"every": -1}, "every=-1")])
def test_bad_arguments_are_refused(given, said):
    with pytest.raises(ValueError, match=said):
        WeighbridgeCallback(**given)
