"""Loops that are watched with their optimizer."""

import torch
from accelerate import Accelerator
from transformers import Trainer, TrainingArguments

from instrument import make_batch, watch
from instrument.loops.arguments import of_trainer
from instrument.loops.data import Rows, padding_collator
from tests.properties.loops import labels_of, live_model, live_rows

OPTIMIZERS = {
    "AdamW": lambda some: torch.optim.AdamW(some, lr=1e-2, weight_decay=0.1),
    "Adam with coupled decay": lambda some: torch.optim.Adam(some, lr=1e-2, weight_decay=0.1, amsgrad=True),
    "SGD": lambda some: torch.optim.SGD(some, lr=1e-2),
    "SGD with Nesterov": lambda some: torch.optim.SGD(some, lr=1e-2, momentum=0.9, nesterov=True, weight_decay=0.1),
    "fused AdamW": lambda some: torch.optim.AdamW(some, lr=1e-2, fused=True),
}


def batches_of(shape):
    """The micro-batches of each window."""
    rows = live_rows(shape.lengths, shape.seed)
    labels = labels_of(rows, shape.labelled)
    made = [make_batch([rows[b] for b in m], [labels[b] for b in m]) for m in shape.micro_batches()]
    return [made[start : start + shape.accumulation] for start in range(0, len(made), shape.accumulation)]


def scored(batch):
    """Targets of a micro-batch."""
    return int((batch["labels"][:, 1:] != -100).sum())


def backward_of(model, window, times=lambda loss: loss, **options):
    """Sum the token mean of a window up."""
    targets = sum(map(scored, window))
    for batch in window:
        times(model(**batch, **options).loss * (scored(batch) / targets)).backward()


def by_hand(shape, kind, max_norm=None, model=None):
    """A loop by hand, with or without a clip."""
    model = live_model(shape.seed) if model is None else model
    optimizer = OPTIMIZERS[kind]([p for p in model.parameters() if p.requires_grad])
    with watch(model, optimizer, max_norm=max_norm) as report:
        for window in batches_of(shape):
            backward_of(model, window)
            if max_norm is not None:
                torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
            optimizer.step()
            optimizer.zero_grad()
    return report


def in_closures(shape, kind, max_norm):
    """The last micro-batch of each window, and the clip, in the closure of the step, as in Lightning."""
    model = live_model(shape.seed)
    optimizer = OPTIMIZERS[kind](model.parameters())
    with watch(model, optimizer, max_norm=max_norm) as report:
        for window in batches_of(shape):
            *first, last = window
            targets = sum(map(scored, window))

            def backward(batch, targets=targets):
                (model(**batch).loss * (scored(batch) / targets)).backward()

            def closure(last=last, backward=backward):
                backward(last)
                torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)

            for batch in first:
                backward(batch)
            optimizer.step(closure)
            optimizer.zero_grad()
    return report


def under_loss_scale(shape, kind, max_norm):
    """The same under a GradScaler."""
    model = live_model(shape.seed)
    optimizer = OPTIMIZERS[kind](model.parameters())
    scaler = torch.amp.GradScaler("cpu", init_scale=1024.0)
    with watch(model, optimizer, max_norm=max_norm) as report:
        for window in batches_of(shape):
            backward_of(model, window, scaler.scale)
            scaler.unscale_(optimizer)
            torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
            scaler.step(optimizer)
            scaler.update()
            optimizer.zero_grad()
    return report


def added_up(shape, max_norm, told):
    """The means of the micro-batches are added up and clipped; the instrument may be told the limit of the clip."""
    model = live_model(shape.seed)
    optimizer = torch.optim.AdamW(model.parameters())
    with watch(model, optimizer, max_norm=max_norm if told else None) as report:
        for window in batches_of(shape):
            for batch in window:
                model(**batch).loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)
            optimizer.step()
            optimizer.zero_grad()
    return report


def by_trainer(shape, max_norm, **arguments):
    """The real Trainer, with a linear schedule."""
    model, rows = live_model(shape.seed), live_rows(shape.lengths, shape.seed)
    settings = {
        "per_device_train_batch_size": shape.micro_batch,
        "gradient_accumulation_steps": shape.accumulation,
        "remove_unused_columns": False,
        "learning_rate": 1e-2,
        "max_grad_norm": max_norm,
        "weight_decay": 0.1,
        "optim": "adamw_torch",
        "lr_scheduler_type": "linear",
        **arguments,
    }
    trainer = Trainer(
        model=model,
        args=of_trainer(TrainingArguments, ".", **settings),
        train_dataset=Rows(rows, labels_of(rows, shape.labelled)),
        data_collator=padding_collator("right", 0),
    )
    with watch(model, trainer.create_optimizer(), max_norm=max_norm) as report:
        trainer.train()
    return report


def by_accelerate(shape, rate=0.1, steps=12):
    """An accelerate loop with a linear schedule."""
    windows = batches_of(shape)
    accelerator = Accelerator(cpu=True, gradient_accumulation_steps=shape.accumulation)
    optimizer = torch.optim.SGD((model := live_model(shape.seed)).parameters(), lr=rate)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: max(0.0, 1 - step / steps))
    model, optimizer, schedule = accelerator.prepare(model, optimizer, schedule)
    with watch(model, optimizer) as report:
        for batch in [batch for window in windows if len(window) == shape.accumulation for batch in window]:
            with accelerator.accumulate(model):
                accelerator.backward(model(**batch).loss)
                optimizer.step()
                schedule.step()
                optimizer.zero_grad()
    return report
