"""The loop that accelerate's own guide teaches: accumulate, backward, step."""

from collections.abc import Sequence
from typing import Any

import torch
from accelerate import Accelerator

from .data import Rows, padding_collator

CHANGES = {"optimizer": "SGD, learning rate 1e-3", "device": "cpu", "data": "batches of the given rows, in order"}


def run_accelerate(
    model: Any,
    rows: Sequence[Sequence[int]],
    labels: Sequence[Sequence[int]] | None = None,
    *,
    micro_batch: int,
    accumulation: int = 1,
    padding_side: str = "right",
    pad_to: int = 0,
) -> list[float]:
    """Train for one epoch with `Accelerator.accumulate`; arguments as in run_trainer.

    Returns:
        The loss of each optimizer step as such a loop logs it: the mean of its micro-batch losses.
    """
    accelerator = Accelerator(cpu=True, gradient_accumulation_steps=accumulation)
    optimizer = torch.optim.SGD((p for p in model.parameters() if p.requires_grad), lr=1e-3)
    loader = torch.utils.data.DataLoader(
        Rows(rows, labels), batch_size=micro_batch, collate_fn=padding_collator(padding_side, pad_to)
    )
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    logged, open_losses = [], []
    model.train()
    for batch in loader:
        with accelerator.accumulate(model):
            loss = model(**batch).loss
            accelerator.backward(loss)
            open_losses.append(float(loss.detach()))
            if accelerator.sync_gradients:
                logged.append(sum(open_losses) / len(open_losses))
                open_losses = []
            optimizer.step()
            optimizer.zero_grad()
    return logged
