"""A loop on ranks that hold a part of every parameter, watched with its optimizer: right ones, and wrong ones."""

import warnings
from contextlib import nullcontext

import torch
import torch.distributed as dist
from peft import LoraConfig, get_peft_model
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import (
    CPUOffloadPolicy,
    FullyShardedDataParallel,
    MixedPrecision,
    MixedPrecisionPolicy,
    ShardingStrategy,
    fully_shard,
)
from torch.distributed.tensor import Shard

from instrument import make_batch, watch
from tests.properties.loops import live_model
from tests.ranks.jobs import WRAPPERS, dealt, digest, fsdp1, fsdp2


def fsdp1_of_blocks(model):
    """Each block wrapped by itself, and the rest."""
    layers = model.get_submodule(next(name for name, _ in model.named_modules() if name.endswith("layers")))
    for number, layer in enumerate(layers):
        layers[number] = fsdp1(layer)
    return fsdp1(model)


def gradients_only(model):
    """Gradients and moments in parts; the parameters stay whole between forward and backward."""
    return FullyShardedDataParallel(
        model,
        use_orig_params=True,
        device_id=torch.device("cpu"),
        sharding_strategy=ShardingStrategy.SHARD_GRAD_OP,
    )


def by_columns(model):
    """Cut along the second axis where there is one."""
    mesh = init_device_mesh("cpu", (dist.get_world_size(),))
    return fully_shard(model, mesh=mesh, shard_placement_fn=lambda p: Shard(p.dim() - 1))


def with_norm_by_itself(model):
    """The last norm is no part of the root's unit."""
    fully_shard(model.model.norm, mesh=init_device_mesh("cpu", (dist.get_world_size(),)))
    return fsdp2(model)


def embedding_by_itself(model):
    """The cut falls within a row of the embedding: 61 rows on two ranks."""
    model.model.embed_tokens = fsdp1(model.model.embed_tokens)
    return fsdp1(model)


def in_bfloat16(model):
    """FSDP1 that casts what it gathers; gradients are reduced in float32."""
    half = MixedPrecision(param_dtype=torch.bfloat16, reduce_dtype=torch.float32)
    return FullyShardedDataParallel(model, use_orig_params=True, device_id=torch.device("cpu"), mixed_precision=half)


def fsdp2_in_bfloat16(model):
    """As in_bfloat16."""
    policy = MixedPrecisionPolicy(param_dtype=torch.bfloat16, reduce_dtype=torch.float32)
    return fully_shard(model, mesh=init_device_mesh("cpu", (dist.get_world_size(),)), mp_policy=policy)


def offloaded(model):
    """Parts lie on the CPU between their uses; without pinned memory, which needs an accelerator."""
    mesh, policy = init_device_mesh("cpu", (dist.get_world_size(),)), CPUOffloadPolicy(pin_memory=False)
    return fully_shard(model, mesh=mesh, offload_policy=policy)


def hybrid(model):
    """Each rank is a group of its own that holds all parts."""
    with warnings.catch_warnings(action="ignore"):
        return FullyShardedDataParallel(
            model,
            use_orig_params=True,
            device_id=torch.device("cpu"),
            sharding_strategy=ShardingStrategy.HYBRID_SHARD,
            device_mesh=init_device_mesh("cpu", (dist.get_world_size(), 1)),
        )


def fsdp2_hybrid(model):
    """As hybrid."""
    return fully_shard(model, mesh=init_device_mesh("cpu", (dist.get_world_size(), 1), mesh_dim_names=("r", "s")))


def left_on(wrapped, model, batch):
    """Hooks that are left on what stands in the place of the head's matrix while it runs."""
    found = []
    head = model.get_output_embeddings()
    handle = head.register_forward_pre_hook(lambda module, args: found.append(len(module.weight._backward_hooks or {})))
    with torch.no_grad():
        wrapped(**batch)
    handle.remove()
    return found


SHARDED = WRAPPERS | {
    "fsdp1, embedding by itself": embedding_by_itself,
    "fsdp1 of blocks": fsdp1_of_blocks,
    "fsdp1, gradients only": gradients_only,
    "fsdp1 in bfloat16": in_bfloat16,
    "fsdp1 hybrid": hybrid,
    "fsdp2 in bfloat16": fsdp2_in_bfloat16,
    "fsdp2 offloaded": offloaded,
    "fsdp2 hybrid": fsdp2_hybrid,
    "fsdp2 by columns": by_columns,
    "fsdp2, norm by itself": with_norm_by_itself,
}


def adapted(model):
    """LoRA on two matrices of each block."""
    # PEFT asks the model by a name that transformers gives up.
    with warnings.catch_warnings(action="ignore", category=FutureWarning):
        model = get_peft_model(model, LoraConfig(r=4, target_modules=["q_proj", "down_proj"]))
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(1)
        for name, parameter in model.named_parameters():
            if "lora_B" in name:
                parameter.data.normal_()
    return model


def checkpointed(model):
    """Each block is run again in backward."""
    with warnings.catch_warnings(action="ignore", category=FutureWarning):
        model.gradient_checkpointing_enable({"use_reentrant": False})
    return model


def tied(model):
    """One matrix is embedding and head."""
    model.lm_head.weight = model.model.embed_tokens.weight
    return model


CHANGES = {"": lambda model: model, "LoRA": adapted, "tied": tied, "checkpointing": checkpointed}


def detached(module, args, output):
    """As the module would give if its weight had been detached."""
    return output.detach() + 0 * args[0].sum()


def without_reduction(wrapped, last):
    """Gradients of all but the last micro-batch stay on their rank."""
    if isinstance(wrapped, FullyShardedDataParallel):
        return nullcontext() if last else wrapped.no_sync()
    wrapped.set_requires_gradient_sync(last)
    return nullcontext()


def added_up(state, whole, part):
    """Each rank gets the sum of its part over the ranks, and no mean."""
    dist.all_reduce(whole)
    part.copy_(whole.chunk(dist.get_world_size())[dist.get_rank()])


def clip(wrapped, held, wrong):
    """To a norm of 1, in the wrapper's own way."""
    kept = held[-1].grad.clone() if held[-1].grad is not None else None
    if wrong == "own norm":
        own = [g.to_local() if hasattr(g, "to_local") else g for g in (p.grad for p in held) if g is not None]
        factor = 1 / torch.cat([g.flatten() for g in own]).norm()
        for gradient in own:
            gradient.mul_(factor)
    elif isinstance(wrapped, FullyShardedDataParallel):
        wrapped.clip_grad_norm_(1.0)
    else:
        torch.nn.utils.clip_grad_norm_(held, 1.0)
    if wrong == "partial clip" and kept is not None:
        held[-1].grad.copy_(kept)
    if wrong == "scaled":
        for p in held:
            if p.grad is not None:
                p.grad.mul_(0.75)


def by_shards(
    wrapper,
    seed,
    rows,
    labels,
    micro_batch,
    accumulation,
    wrong="",
    kind="AdamW",
    change="",
    is_watched=True,
    held_back=True,
    max_norm=1.0,
):
    """The record of this rank of a token mean over all ranks, clipped to 1, and what the run leaves behind."""
    model, rank, ranks = CHANGES[change](live_model(seed)), dist.get_rank(), dist.get_world_size()
    if wrong == "wrapped inside":
        optimizer = getattr(torch.optim, kind)(model.parameters(), lr=1e-2)
    if wrong == "not reached":
        model.model.layers[0].mlp.down_proj.register_forward_hook(detached)
    wrapped = model if wrong == "wrapped inside" else SHARDED[wrapper](model)
    held = [p for p in model.parameters() if p.requires_grad]
    if wrong != "wrapped inside":
        given = held[:-1] if wrong == "missing" else held
        optimizer = getattr(torch.optim, kind)(given, lr=2e-2 if wrong == "other rate" and rank == 1 else 1e-2)
    if wrong == "summed":
        wrapped.register_comm_hook(None, added_up)
    own = list(zip(dealt(rows, micro_batch), dealt(labels, micro_batch)))
    batches = [make_batch(*zip(*own[i : i + micro_batch])) for i in range(0, len(own), micro_batch)]
    with watch(model, optimizer, max_norm=max_norm) if is_watched else nullcontext() as report:
        if wrong == "wrapped inside":
            wrapped = SHARDED[wrapper](model)
            optimizer = getattr(torch.optim, kind)(model.parameters(), lr=1e-2)
        for start in range(0, len(batches), accumulation):
            window = batches[start : start + accumulation]
            targets = torch.tensor(sum(int((batch["labels"][:, 1:] != -100).sum()) for batch in window))
            dist.all_reduce(targets)
            for number, batch in enumerate(window):
                last = number == len(window) - 1
                if wrong == "emptied" and last:
                    optimizer.zero_grad()
                with without_reduction(wrapped, last or not held_back or wrong == "emptied"):
                    (wrapped(**batch, num_items_in_batch=targets).loss * ranks).backward()
            clip(wrapped, held, wrong)
            optimizer.step()
            for p in held:
                p.grad = None
    moments = [digest(value) for state in optimizer.state.values() for value in state.values()]
    left = [digest(p) for p in model.parameters()], moments, digest(torch.get_rng_state())
    left = *left, left_on(wrapped, model, batches[0])
    return report.record if is_watched else None, left
