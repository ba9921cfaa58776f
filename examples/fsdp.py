"""A plain PyTorch loop on ranks that each hold a part of every parameter.

torchrun --nproc-per-node 2 --no-python weighbridge run examples/fsdp.py
torchrun --nproc-per-node 2 --no-python weighbridge run examples/fsdp.py --fsdp1
torchrun --nproc-per-node 2 --no-python weighbridge run examples/fsdp.py --clip-parts
"""

import argparse

import torch
import torch.distributed as dist
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import FullyShardedDataParallel, MixedPrecision, MixedPrecisionPolicy, fully_shard
from transformers import LlamaConfig, LlamaForCausalLM


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--fsdp1", action="store_true", help="the wrapper, where fully_shard is the default")
    parser.add_argument("--bf16", action="store_true", help="run in bfloat16, on parameters in float32")
    parser.add_argument("--replicas", type=int, default=1, help="so many groups of ranks hold all parts each")
    parser.add_argument("--clip-parts", action="store_true", help="let each rank clip by the norm of its own part")
    options = parser.parse_args()
    dist.init_process_group("gloo")
    rank, ranks = dist.get_rank(), dist.get_world_size()
    torch.manual_seed(0)
    sizes = {"hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 2, "num_attention_heads": 4}
    model = LlamaForCausalLM(LlamaConfig(vocab_size=100, **sizes))
    if options.fsdp1:
        half = MixedPrecision(param_dtype=torch.bfloat16) if options.bf16 else None
        model = FullyShardedDataParallel(
            model, use_orig_params=True, device_id=torch.device("cpu"), mixed_precision=half
        )
    else:
        policy = MixedPrecisionPolicy(param_dtype=torch.bfloat16 if options.bf16 else None)
        mesh = init_device_mesh("cpu", (ranks,))
        if options.replicas > 1:
            shape = (options.replicas, ranks // options.replicas)
            mesh = init_device_mesh("cpu", shape, mesh_dim_names=("replicas", "parts"))
        for layer in model.model.layers:
            fully_shard(layer, mesh=mesh, mp_policy=policy)
        model = fully_shard(model, mesh=mesh, mp_policy=policy)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, weight_decay=0.0)
    draw = torch.Generator().manual_seed(rank)
    for step in range(3):
        ids = torch.randint(3, 100, (2, 5 + 4 * rank), generator=draw)
        targets = torch.tensor(ids[:, 1:].numel())
        dist.all_reduce(targets)
        loss = model(input_ids=ids, labels=ids, num_items_in_batch=targets).loss * ranks
        loss.backward()
        if options.clip_parts:
            held = [p.grad for p in model.parameters() if p.grad is not None]
            own = [g.to_local() if hasattr(g, "to_local") else g for g in held]
            factor = 0.1 / torch.cat([g.flatten() for g in own]).norm()
            for gradient in own:
                gradient.mul_(factor.clamp(max=1))
        optimizer.step()
        optimizer.zero_grad()
        if rank == 0:
            print(f"step {step}: loss {loss.item():.4f}")
    # A rank that leaves first may keep the other waiting for ever.
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
