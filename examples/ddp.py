"""A plain PyTorch loop on several data-parallel ranks.

torchrun --nproc-per-node 2 --no-python weighbridge run examples/ddp.py
torchrun --nproc-per-node 2 --no-python weighbridge run examples/ddp.py --mean-of-means
"""

import argparse
import os

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from transformers import LlamaConfig, LlamaForCausalLM


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--mean-of-means", action="store_true", help="let each rank divide by its own targets")
    options = parser.parse_args()
    dist.init_process_group("gloo")
    rank, ranks = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    torch.manual_seed(0)
    model = DistributedDataParallel(
        LlamaForCausalLM(
            LlamaConfig(
                vocab_size=100, hidden_size=32, intermediate_size=48, num_hidden_layers=2, num_attention_heads=4
            )
        )
    )
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    draw = torch.Generator().manual_seed(rank)
    for step in range(3):
        ids = torch.randint(3, 100, (2, 5 + 4 * rank), generator=draw)
        targets = torch.tensor(float(ids[:, 1:].numel()))
        loss = model(input_ids=ids, labels=ids).loss
        if not options.mean_of_means:
            own = targets.clone()
            dist.all_reduce(targets)
            # DistributedDataParallel averages over the ranks.
            loss = loss * own / targets * ranks
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        if rank == 0:
            print(f"step {step}: loss {loss.item():.4f}")
    # A rank that leaves first may keep the other waiting for ever.
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
