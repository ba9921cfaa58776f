"""A loop of one's own with accelerate: accumulation, with the loss divided by the targets of the whole window.

weighbridge run examples/accelerate_loop.py
weighbridge run examples/accelerate_loop.py --mean-of-means
"""

import argparse

import torch
from accelerate import Accelerator
from accelerate.utils import set_seed
from torch.utils.data import DataLoader
from transformers import LlamaConfig, LlamaForCausalLM

WINDOW = 4


def collate(rows: list[list[int]]) -> dict[str, torch.Tensor]:
    longest = max(len(row) for row in rows)
    ids = torch.tensor([row + [0] * (longest - len(row)) for row in rows])
    mask = torch.tensor([[1] * len(row) + [0] * (longest - len(row)) for row in rows])
    return {"input_ids": ids, "attention_mask": mask, "labels": ids.masked_fill(mask == 0, -100)}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--mean-of-means", action="store_true", help="let each micro-batch divide by its own targets")
    options = parser.parse_args()
    set_seed(0)
    draw = torch.Generator().manual_seed(0)
    lengths = torch.randint(4, 20, (64,), generator=draw).tolist()
    rows = [torch.randint(3, 100, (n,), generator=draw).tolist() for n in lengths]
    model = LlamaForCausalLM(
        LlamaConfig(vocab_size=100, hidden_size=32, intermediate_size=48, num_hidden_layers=2, num_attention_heads=4)
    )
    accelerator = Accelerator(gradient_accumulation_steps=WINDOW, cpu=True)
    model, optimizer, loader = accelerator.prepare(
        model, torch.optim.AdamW(model.parameters(), lr=1e-3), DataLoader(rows, batch_size=2, collate_fn=collate)
    )
    batches = iter(loader)
    for step in range(4):
        window = [next(batches) for _ in range(WINDOW)]
        targets = sum(int((batch["labels"][:, 1:] != -100).sum()) for batch in window)
        total = 0.0
        for batch in window:
            with accelerator.accumulate(model):
                own = {} if options.mean_of_means else {"num_items_in_batch": targets}
                loss = model(**batch, **own).loss
                # accelerate divides by the window's batches, which the count of targets has done already.
                accelerator.backward(loss if options.mean_of_means else loss * WINDOW)
                optimizer.step()
                optimizer.zero_grad()
                total += loss.item()
        print(f"step {step}: loss {total / (WINDOW if options.mean_of_means else 1):.4f}")


if __name__ == "__main__":
    main()
