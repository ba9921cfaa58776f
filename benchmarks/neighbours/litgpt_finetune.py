"""LitGPT: fit of litgpt.finetune.full with its chunked_cross_entropy, four micro-batches a step, on the probe of xray.

pip install -c FILE litgpt==0.5.13  (FILE: torch==2.13.0; see docs/neighbours.md)
python benchmarks/neighbours/litgpt_finetune.py

Its tokenizer and its validation are replaced; neither trains.
"""

from pathlib import Path
from unittest import mock

import lightning
import torch
from litgpt.args import EvalArgs, TrainArgs
from litgpt.finetune import full
from torch.utils.data import DataLoader

from instrument import xray


class Logits(torch.nn.Module):
    config = mock.Mock(block_size=64)

    def __init__(self, model: torch.nn.Module) -> None:
        super().__init__()
        self.model = model

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        return self.model(input_ids=ids).logits


def collate(rows: list[dict]) -> dict:
    counts = {"raw": torch.tensor(0), "raw_plus_prompt_template": torch.tensor(0)}
    ids = torch.stack([row["input_ids"] for row in rows])
    return {"input_ids": ids, "labels": ids, "token_counts": counts}


def step(model, rows) -> None:
    fabric = lightning.Fabric(accelerator="cpu", devices=1)
    fabric.launch()
    optimizer = torch.optim.AdamW(model.parameters())
    wrapped, prepared = fabric.setup(Logits(model), optimizer)
    schedule = torch.optim.lr_scheduler.ConstantLR(optimizer, factor=1.0)
    state = {"model": wrapped, "optimizer": prepared, "scheduler": schedule, "iter_num": 0, "step_count": 0}
    loader = DataLoader([{"input_ids": torch.tensor(row)} for row in rows], batch_size=1, collate_fn=collate)
    train = TrainArgs(global_batch_size=4, micro_batch_size=1, epochs=1, max_steps=1, log_interval=100)
    with mock.patch.multiple(full, Tokenizer=mock.DEFAULT, validate=mock.DEFAULT):
        full.fit(
            fabric,
            state,
            loader,
            loader,
            devices=1,
            resume=False,
            checkpoint_dir=Path(),
            out_dir=Path(),
            train=train,
            eval=EvalArgs(interval=100),
            data=mock.Mock(),
        )


print(xray(step, lengths=[5, 9, 3, 12]))
