"""Named runs that are stopped and resumed, in which samples that run twice or never show."""

import torch

from tests.properties.loops import live_rows
from tests.properties.resumed import times_over_a_resume


def resumed_trainer():
    """Two shuffled epochs of eight samples, stopped behind the second of four windows of the last one."""
    rows = live_rows([4 + n % 3 for n in range(8)], 0)
    shuffled = {"train_sampling_strategy": "random", "data_seed": 1}
    ran = times_over_a_resume(rows, 6, micro_batch=1, accumulation=2, num_train_epochs=2, **shuffled)
    orders = [torch.randperm(8, generator=torch.Generator().manual_seed(1 + epoch)).tolist() for epoch in range(2)]
    return [ran], [{"orders": orders, "windows": 2, "accumulation": 2, "batch": 1}]


RESUMES = (resumed_trainer,)
