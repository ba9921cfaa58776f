"""Loops on ranks that are watched with their optimizer, right ones and some that go wrong behind backward."""

from contextlib import nullcontext

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from transformers import Trainer, TrainingArguments

from instrument import make_batch, watch
from instrument.loops.arguments import of_trainer
from instrument.loops.data import Rows, padding_collator
from tests.instrument.models import with_lora
from tests.properties.loops import live_model
from tests.properties.resumed import records_over_a_resume
from tests.ranks.jobs import dealt, digest

# Small enough that each parameter has a bucket of its own.
BUCKET_MB = 1e-6


def summed(state, bucket):
    """Gradients are added up over the ranks and not divided."""
    return dist.all_reduce(bucket.buffer(), async_op=True).get_future().then(lambda done: done.value()[0])


def detached(module, args, output):
    """As the module would give if its weight had been detached."""
    return torch.nn.functional.linear(args[0], module.weight.detach())


def by_ddp(seed, rows, labels, micro_batch, accumulation, wrong="", kind="AdamW"):
    """The record of this rank of a loop by hand, every window a token mean over all ranks, clipped to 1."""
    model, rank, ranks = live_model(seed), dist.get_rank(), dist.get_world_size()
    rate = 2e-2 if wrong == "other rate" and rank == 1 else 1e-2
    optimizer = getattr(torch.optim, kind)(model.parameters(), lr=rate)
    if wrong == "left out of the all-reduce":
        DistributedDataParallel._set_params_and_buffers_to_ignore_for_model(model, ["lm_head.weight"])
    if wrong == "not reached" and rank == 1:
        model.model.layers[0].mlp.down_proj.register_forward_hook(detached)
    wrapped = DistributedDataParallel(model, bucket_cap_mb=BUCKET_MB, find_unused_parameters=wrong == "not reached")
    if wrong == "summed":
        wrapped.register_comm_hook(None, summed)
    own = list(zip(dealt(rows, micro_batch), dealt(labels, micro_batch)))
    batches = [make_batch(*zip(*own[i : i + micro_batch])) for i in range(0, len(own), micro_batch)]
    with watch(model, optimizer, max_norm=1.0) as report:
        for start in range(0, len(batches), accumulation):
            window = batches[start : start + accumulation]
            targets = torch.tensor(sum(int((batch["labels"][:, 1:] != -100).sum()) for batch in window))
            dist.all_reduce(targets)
            for number, batch in enumerate(window):
                wrapped.require_backward_grad_sync = number == len(window) - 1 and wrong != "never averaged"
                loss = wrapped(**batch, num_items_in_batch=targets).loss
                (loss * ranks).backward()
                if wrong == "emptied on rank 1" and rank == 1 and number < len(window) - 1:
                    optimizer.zero_grad()
            if not (wrong == "not clipped on rank 1" and rank == 1):
                torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            optimizer.zero_grad()
    return report.record


def by_trainer(seed, rows, labels, micro_batch, accumulation, adapters=False):
    """The record of this rank of the real Trainer, on a model that trains whole or in its adapters alone."""
    model = with_lora(target=["q_proj", "down_proj"]) if adapters else live_model(seed)
    settings = {
        "per_device_train_batch_size": micro_batch,
        "gradient_accumulation_steps": accumulation,
        "remove_unused_columns": False,
        "learning_rate": 1e-2,
        "max_grad_norm": 0.5,
        "weight_decay": 0.1,
        "optim": "adamw_torch",
    }
    trainer = Trainer(
        model=model,
        args=of_trainer(TrainingArguments, ".", **settings),
        train_dataset=Rows(rows, labels),
        data_collator=padding_collator("right", 0),
    )
    with watch(model, trainer.create_optimizer(), max_norm=0.5) as report:
        trainer.train()
    return report.record


def by_trainer_of_adapters(*given):
    """As by_trainer, with LoRA."""
    return by_trainer(*given, adapters=True)


def resumed(folder, rows, stop, options):
    """The records of this rank of a run that stops behind a step, and of the one that takes it up."""
    return records_over_a_resume(folder, rows, stop, **options)


def left_behind(seed, rows, labels, micro_batch, accumulation, is_watched):
    """All that a later step could depend on, after a run by hand that was watched with its optimizer, or not."""
    model = live_model(seed)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    wrapped = DistributedDataParallel(model)
    with watch(model, optimizer) if is_watched else nullcontext():
        for row, label in zip(dealt(rows, 1), dealt(labels, 1)):
            wrapped(**make_batch([row], [label])).loss.backward()
            optimizer.step()
            optimizer.zero_grad()
    moments = [digest(value) for state in optimizer.state.values() for value in state.values()]
    return [digest(p) for p in model.parameters()], moments, digest(torch.get_rng_state())
