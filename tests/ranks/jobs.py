"""What a rank does: train as one of the ranks, measured, and hand over its record."""

import hashlib
import tempfile
from contextlib import nullcontext

import torch
import torch.distributed as dist
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import FullyShardedDataParallel, fully_shard
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, get_worker_info
from transformers import PrinterCallback, Trainer, TrainingArguments

from instrument import make_batch, watch, xray_rows
from instrument.loops.accelerate_loop import run_accelerate
from instrument.loops.arguments import of_trainer
from instrument.loops.data import padding_collator
from instrument.loops.trainer import run_trainer
from tests.properties.loops import labels_of, live_model


def dealt(rows, micro_batch):
    """The rows of this rank: batches are dealt in turn, as accelerate does."""
    rank, ranks = dist.get_rank(), dist.get_world_size()
    return [row for i, row in enumerate(rows) if i // micro_batch % ranks == rank]


def run_ddp(model, rows, labels, *, micro_batch, accumulation=1, no_sync=True, averaged=True, lr=0.0):
    """A loop that somebody wrote for DDP: each rank sums over its targets, times the ranks, over all targets.

    Where gradients are not `averaged`, every rank steps on its own.
    """
    ranks = dist.get_world_size()
    optimizer = torch.optim.SGD(model.parameters(), lr=lr)
    wrapped = DistributedDataParallel(model)
    own = list(zip(dealt(rows, micro_batch), dealt(labels, micro_batch)))
    batches = [make_batch(*zip(*own[i : i + micro_batch])) for i in range(0, len(own), micro_batch)]
    for start in range(0, len(batches), accumulation):
        window = batches[start : start + accumulation]
        targets = torch.tensor(sum(int((batch["labels"][:, 1:] != -100).sum()) for batch in window))
        dist.all_reduce(targets)
        for number, batch in enumerate(window):
            wrapped.require_backward_grad_sync = averaged and (not no_sync or number == len(window) - 1)
            logits = wrapped(**batch).logits[:, :-1]
            loss = torch.nn.functional.cross_entropy(
                logits.transpose(1, 2), batch["labels"][:, 1:], ignore_index=-100, reduction="sum"
            )
            (loss * ranks / targets).backward()
        optimizer.step()
        optimizer.zero_grad()


def run_sampled(model, rows, labels, *, micro_batch, epochs=1, shuffle=False):
    """As run_ddp, on what torch's own DistributedSampler deals to this rank."""
    optimizer, wrapped = torch.optim.SGD(model.parameters(), lr=0.0), DistributedDataParallel(model)
    sampler = DistributedSampler(range(len(rows)), shuffle=shuffle, seed=1)
    loader = DataLoader(range(len(rows)), batch_size=micro_batch, sampler=sampler)
    for epoch in range(epochs):
        sampler.set_epoch(epoch)
        for numbers in loader:
            batch = make_batch([rows[n] for n in numbers], [labels[n] for n in numbers])
            targets = (batch["labels"][:, 1:] != -100).sum()
            dist.all_reduce(targets)
            (wrapped(**batch, num_items_in_batch=targets).loss * dist.get_world_size()).backward()
            optimizer.step()
            optimizer.zero_grad()


class Stream(torch.utils.data.IterableDataset):
    """Rows that come one after the other; of several workers each reads its part where it is `parted`, or all."""

    def __init__(self, rows, parted):
        self.rows, self.parted = rows, parted

    def __iter__(self):
        worker = get_worker_info()
        own = self.rows[worker.id :: worker.num_workers] if worker and self.parted else self.rows
        return iter([{"input_ids": list(row), "labels": list(row)} for row in own])


def run_stream(model, rows, labels, *, micro_batch, dispatch=False, pad_to=0, workers=0, parted=True):
    """The Trainer on a stream, each rank reading all of it, or the first one for all."""
    times = 1 if parted else workers
    steps = times * len(rows) // (micro_batch * dist.get_world_size())
    with tempfile.TemporaryDirectory() as folder:
        arguments = of_trainer(
            TrainingArguments,
            folder,
            per_device_train_batch_size=micro_batch,
            max_steps=steps,
            remove_unused_columns=False,
            accelerator_config={"dispatch_batches": dispatch},
            dataloader_num_workers=workers,
        )
        collator = padding_collator("right", pad_to)
        trainer = Trainer(model=model, args=arguments, train_dataset=Stream(rows, parted), data_collator=collator)
        trainer.remove_callback(PrinterCallback)
        trainer.train()


LOOPS = {
    "trainer": run_trainer,
    "accelerate": run_accelerate,
    "ddp": run_ddp,
    "sampled": run_sampled,
    "stream": run_stream,
}


def watched(loop, seed, rows, labels, options):
    """The record of this rank of a watched run."""
    model = live_model(seed)
    with watch(model) as report:
        LOOPS[loop](model, rows, labels, **options)
    return report.record


def probed(loop, rows, labelled, options):
    """The record of this rank of a loop on the probe; every rank is given all rows."""

    def step(model, rows):
        LOOPS[loop](model, rows, labels_of(rows, labelled), **options)

    return xray_rows(step, rows, labelled=labelled).record


def fsdp1(model, use_orig_params=True):
    """Wrapped by FSDP, on the CPU."""
    return FullyShardedDataParallel(model, use_orig_params=use_orig_params, device_id=torch.device("cpu"))


def fsdp2(model):
    """Sharded in place, each layer and the rest, on a mesh of CPUs."""
    mesh = init_device_mesh("cpu", (dist.get_world_size(),))
    for layer in model.get_submodule(next(name for name, _ in model.named_modules() if name.endswith("layers"))):
        fully_shard(layer, mesh=mesh)
    return fully_shard(model, mesh=mesh)


def fsdp2_with_head(model):
    """As fsdp2, the head sharded by itself too."""
    fully_shard(model.lm_head, mesh=init_device_mesh("cpu", (dist.get_world_size(),)))
    return fsdp2(model)


def without_original_parameters(model):
    return fsdp1(model, use_orig_params=False)


WRAPPERS = {
    "ddp": DistributedDataParallel,
    "fsdp1": fsdp1,
    "fsdp2": fsdp2,
    "fsdp2 with head": fsdp2_with_head,
    "fsdp1 without original parameters": without_original_parameters,
}


def sharded(wrapper, seed, rows, labels, before, micro_batch, rank_means):
    """The record of this rank of one step under a wrapper; `before` says whether it is wrapped before it is watched."""
    model, ranks = live_model(seed), dist.get_world_size()
    wrapped = WRAPPERS[wrapper](model) if before else None
    with watch(model) as report:
        wrapped = WRAPPERS[wrapper](model) if wrapped is None else wrapped
        optimizer = torch.optim.AdamW(wrapped.parameters(), lr=1e-3)
        batch = make_batch(dealt(rows, micro_batch), dealt(labels, micro_batch))
        targets = (batch["labels"][:, 1:] != -100).sum()
        if not rank_means:
            dist.all_reduce(targets)
        loss = wrapped(**batch, num_items_in_batch=targets).loss
        (loss if rank_means else loss * ranks).backward()
        optimizer.step()
    return report.record


def digest(tensor):
    """The bits that this rank holds."""
    part = tensor.to_local() if hasattr(tensor, "to_local") else tensor
    return hashlib.sha256(part.detach().reshape(-1).contiguous().view(torch.uint8).numpy().tobytes()).hexdigest()


def trained(loop, seed, rows, labels, options, is_watched):
    """All that a later step could depend on, after a run that was watched or not."""
    model = live_model(seed)
    with watch(model) if is_watched else nullcontext():
        if loop not in LOOPS:
            wrapped = WRAPPERS[loop](model)
            optimizer = torch.optim.AdamW(wrapped.parameters(), lr=1e-2)
            own = list(zip(dealt(rows, 1), dealt(labels, 1)))
            for row, label in own:
                wrapped(**make_batch([row], [label])).loss.backward()
                optimizer.step()
                optimizer.zero_grad()
            moments = [digest(value) for state in optimizer.state.values() for value in state.values()]
        else:
            LOOPS[loop](model, rows, labels, **options)
            moments = []
    modules = dict(model.named_modules())
    return {
        "parameters": [digest(p) for p in model.parameters()],
        "moments": moments,
        "random": digest(torch.get_rng_state()),
        "modes": {name: module.training for name, module in modules.items()},
        "hooks": {name: (len(m._forward_hooks), len(m._forward_pre_hooks)) for name, m in modules.items()},
    }
