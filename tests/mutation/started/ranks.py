"""Sums over all ranks what the library says in each, and leaves the sum behind."""

import os
import sys
from pathlib import Path

import torch
import torch.distributed as dist
import toy

rank = int(os.environ.get("RANK", 0))
total = torch.tensor([toy.in_rank(rank)])
if "RANK" in os.environ:
    dist.init_process_group("gloo")
    dist.all_reduce(total)
    dist.destroy_process_group()
folder = Path(sys.argv[1])
folder.mkdir(exist_ok=True)
(folder / str(rank)).write_text(str(total.item()))
