"""What `watch` costs: plain and watched blocks of optimizer steps in turn, in one run, and the ratio of each pair.

    python benchmarks/watch_cost.py [VOCABULARY] [PAIRS] [OPTIMIZER]

With OPTIMIZER 1 the optimizer is watched too (reach, closure, step).

Hidden size 128, 4 layers, batch of 8 rows of 64 tokens, float32, AdamW, one thread. The vocabulary decides how much of
the step is the head, which is what `watch` runs once more. Times are processor time of the one thread, which other work
on the machine disturbs less than the clock on the wall.
"""

import sys
import time

import numpy as np
import torch
from transformers import LlamaConfig, LlamaForCausalLM

from instrument import watch


def main(vocabulary: int = 512, pairs: int = 40, with_optimizer: int = 0) -> None:
    """Print the medians of both kinds of step and of their ratio."""
    torch.set_num_threads(1)
    torch.manual_seed(0)
    config = LlamaConfig(
        vocab_size=vocabulary,
        hidden_size=128,
        intermediate_size=344,
        num_hidden_layers=4,
        num_attention_heads=4,
        num_key_value_heads=4,
    )
    model = LlamaForCausalLM(config)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    ids = torch.randint(3, vocabulary, (8, 64))

    def step() -> float:
        start = time.process_time()
        model(input_ids=ids, labels=ids).loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        return time.process_time() - start

    for _ in range(10):
        step()
    plain, watched = [], []
    for _ in range(pairs):
        # The first step of each block is left out: in it `watch` finds out what the head does.
        plain.append(np.mean([step() for _ in range(5)][1:]))
        with watch(model, optimizer if with_optimizer else None):
            watched.append(np.mean([step() for _ in range(5)][1:]))
    ratio = np.array(watched) / np.array(plain)
    low, middle, high = np.quantile(ratio, [0.25, 0.5, 0.75])
    kind = ", optimizer" if with_optimizer else ""
    print(
        f"vocabulary {vocabulary}{kind}: plain {1e3 * np.median(plain):.1f} ms, "
        f"watched {1e3 * np.median(watched):.1f} ms, "
        f"ratio {middle:.3f} (quartiles {low:.3f} to {high:.3f}, {pairs} pairs)"
    )


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
