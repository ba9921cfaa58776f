"""torchtune: the train method of full_finetune_single_device, four micro-batches a step, on the probe of xray.

pip install -c FILE torchtune==0.6.1 torchao==0.15.0  (FILE: torch==2.13.0; see docs/neighbours.md)
python benchmarks/neighbours/torchtune_recipe.py

The recipe's setup, which loads a checkpoint, is replaced by the attributes that train reads.
"""

import runpy
from contextlib import nullcontext
from pathlib import Path
from unittest import mock

import torch
import torchao.dtypes.nf4tensor  # noqa: F401  # without it torchtune says that torchao is not installed
import torchtune
from torch.utils.data import DataLoader, DistributedSampler
from torchtune.modules.loss import CEWithChunkedOutputLoss

from instrument import xray

recipe_file = Path(torchtune.__file__).parents[1] / "recipes/full_finetune_single_device.py"
Recipe = runpy.run_path(str(recipe_file))["FullFinetuneRecipeSingleDevice"]


class Chunks(torch.nn.Module):
    def __init__(self, model: torch.nn.Module) -> None:
        super().__init__()
        self.model = model

    def forward(self, tokens: torch.Tensor) -> list[torch.Tensor]:
        return list(self.model(input_ids=tokens).logits.chunk(2, dim=1))


def collate(rows: list[list[int]]) -> dict[str, torch.Tensor]:
    ids = torch.tensor(rows)
    return {"tokens": ids, "labels": ids.clone()}


def step(model, rows) -> None:
    recipe = object.__new__(Recipe)
    sampler = DistributedSampler(rows, num_replicas=1, rank=0, shuffle=False)
    replaced = {
        "_model": Chunks(model),
        "_optimizer": torch.optim.AdamW(model.parameters()),
        "_loss_fn": CEWithChunkedOutputLoss(num_output_chunks=2),
        "_dataloader": DataLoader(rows, batch_size=1, sampler=sampler, collate_fn=collate),
        "_gradient_accumulation_steps": len(rows),
        "_steps_per_epoch": 1,
        "_device": torch.device("cpu"),
        "_compile": False,
        "_optimizer_in_bwd": False,
        "_clip_grad_norm": None,
        "_lr_scheduler": None,
        "_log_every_n_steps": 100,
        "_log_peak_memory_stats": False,
        "_profiler": mock.Mock(),
        "profiler_profile_memory": False,
        "ignore_labels_cache": torch.full((1, 1), -100),
        "activations_handling_ctx": nullcontext(),
        "epochs_run": 0,
        "total_epochs": 1,
        "max_steps_per_epoch": 1,
        "global_step": 0,
        "save_checkpoint": mock.Mock(),
    }
    for name, value in replaced.items():
        setattr(recipe, name, value)
    with mock.patch.object(torchtune.training, "scale_grads", wraps=torchtune.training.scale_grads) as scale:
        recipe.train()
    print(f"behind the last backward the recipe multiplies the gradients by 1/{1 / scale.call_args.args[1]:.6g}")


print(xray(step, lengths=[5, 9, 3, 12]))
