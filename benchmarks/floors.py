"""How far a measured weight is from 1/N when nothing is wrong: max |w*N - 1| through the real Trainer.

    python benchmarks/floors.py [SEEDS]

Eight uneven rows in four micro-batches, `SEEDS` times: the float64 probe, and a live Llama in float64 and float32.
"""

import sys

import numpy as np
import torch
from transformers import LlamaConfig, LlamaForCausalLM

from instrument import tracer_rows, watch, xray
from instrument.loops.trainer import run_trainer

LENGTHS = (5, 9, 3, 12, 7, 4, 10, 6)


def deviation(report) -> float:
    """max |w*N - 1|."""
    return max(float(np.max(np.abs(r.weight * w.targets() - 1))) for w in report.windows for r in w.rows)


def probe(seed: int) -> float:
    """The float64 probe."""
    return deviation(xray(lambda model, rows: run_trainer(model, rows, micro_batch=2, accumulation=4), LENGTHS, seed))


def live(seed: int, dtype: torch.dtype) -> float:
    """A Llama as large as the probe, attention live."""
    torch.manual_seed(seed)
    sizes = {"hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": 2, "num_attention_heads": 4}
    model = LlamaForCausalLM(LlamaConfig(vocab_size=100, **sizes)).to(dtype)
    with watch(model) as report:
        run_trainer(model, tracer_rows(LENGTHS, seed), micro_batch=2, accumulation=4)
    return deviation(report)


def main(seeds: int = 20) -> None:
    """Print the largest deviation of each."""
    torch.set_num_threads(1)
    print(f"probe float64: {max(probe(s) for s in range(seeds)):.1e}")
    for dtype in (torch.float64, torch.float32):
        print(f"live {str(dtype).removeprefix('torch.')}: {max(live(s, dtype) for s in range(seeds)):.1e}")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
