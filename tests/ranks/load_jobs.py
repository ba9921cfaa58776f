"""The real Trainer on a model that transformers shards while it loads it, as one of the ranks."""

import tempfile
from contextlib import nullcontext

import torch
import torch.distributed as dist
from accelerate import Accelerator
from accelerate.utils import FullyShardedDataParallelPlugin
from torch.nn.parallel import DistributedDataParallel
from transformers import LlamaForCausalLM, Trainer, TrainingArguments
from transformers.distributed import DistributedConfig

from instrument import watch
from instrument.loops.arguments import of_trainer
from instrument.loops.data import Rows, padding_collator
from tests.properties.loops import live_model
from tests.ranks.jobs import digest

SETTINGS = {
    "remove_unused_columns": False,
    "learning_rate": 1e-2,
    "max_grad_norm": 0.5,
    "weight_decay": 0.1,
    "optim": "adamw_torch",
}


def loaded(seed, **config):
    """A model of which each rank holds a part, as transformers' own plan cuts it."""
    how = DistributedConfig(**{"fsdp_size": dist.get_world_size(), **config})
    with tempfile.TemporaryDirectory() as folder:
        # transformers writes on the first rank alone.
        live_model(seed).save_pretrained(folder)
        written = [folder]
        dist.broadcast_object_list(written)
        model = LlamaForCausalLM.from_pretrained(written[0], distributed_config=how, dtype=torch.float32)
        dist.barrier()
    return model


def trainer_of(model, rows, labels, micro_batch, accumulation, **arguments):
    """The Trainer, clipping and decaying."""
    settings = {"per_device_train_batch_size": micro_batch, "gradient_accumulation_steps": accumulation, **SETTINGS}
    return Trainer(
        model=model,
        args=of_trainer(TrainingArguments, ".", **settings, **arguments),
        train_dataset=Rows(rows, labels),
        data_collator=padding_collator("right", 0),
    )


def by_loaded(seed, rows, labels, micro_batch, accumulation, config, is_watched=True):
    """The record of this rank, and what the run leaves behind."""
    model = loaded(seed, **config)
    trainer = trainer_of(model, rows, labels, micro_batch, accumulation)
    optimizer = trainer.create_optimizer()
    with watch(model, optimizer, max_norm=0.5) if is_watched else nullcontext() as report:
        trainer.train()
    moments = [digest(value) for state in optimizer.state.values() for value in state.values()]
    left = [digest(p) for p in model.parameters()], moments, digest(torch.get_rng_state())
    return report.record if is_watched else None, left


def asked_for_fsdp(rows):
    """The record of this rank of a Trainer with fsdp=True, and whether it ran as plain data parallel."""
    model = live_model(0)
    trainer = trainer_of(model, rows, rows, 1, 1, fsdp=True)
    with watch(model) as report:
        trainer.train()
    return report.record, trainer.is_fsdp_enabled, isinstance(trainer.model_wrapped, DistributedDataParallel)


def prepared_for_fsdp(version):
    """What accelerate makes of a model for which it is given a plugin of FSDP on the CPU."""
    accelerator = Accelerator(cpu=True, fsdp_plugin=FullyShardedDataParallelPlugin(fsdp_version=version))
    wrapped = accelerator.prepare(live_model(0))
    return isinstance(wrapped, DistributedDataParallel), {type(p).__name__ for p in wrapped.parameters()}
