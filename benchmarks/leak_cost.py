"""What a search for leaks costs beside the full matrix, in one run, and beside the memory of a training step.

    python benchmarks/leak_cost.py [DOCUMENTS] [TOKENS]

A flattened batch through a float32 Llama of hidden size 64 and 2 layers, one thread. Times are processor time. The peak
is that of all tensors that a call makes, in bytes.
"""

import sys
import time

import torch
from transformers import DataCollatorWithFlattening

from instrument.leak import find_leaks, leak_matrix
from instrument.leak_probe import build_leak_probe
from instrument.probe import tracer_rows, vocabulary_for
from tests.instrument.live_bytes import LiveBytes


def seconds(run) -> tuple[float, object]:
    """Processor time of a call, and what it returned."""
    start = time.process_time()
    result = run()
    return time.process_time() - start, result


def step(model, batch) -> None:
    """One training step with SGD."""
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    model(**batch).loss.backward()
    optimizer.step()
    optimizer.zero_grad()


def peak(run) -> int:
    """Largest number of bytes alive during a call."""
    with LiveBytes() as alive:
        run()
    return alive.peak


def main(documents: int = 128, tokens: int = 8) -> None:
    """Print the figures."""
    torch.set_num_threads(1)
    rows = tracer_rows([tokens] * documents)
    sizes = {"hidden_size": 64, "intermediate_size": 128, "max_position_embeddings": 4096}
    model = build_leak_probe(vocabulary_for(rows), dtype=torch.float32, **sizes)
    batch = {**DataCollatorWithFlattening()([{"input_ids": row} for row in rows]), "use_cache": False}
    searched, found = seconds(lambda: find_leaks(model, batch))
    full, matrix = seconds(lambda: leak_matrix(model, batch))
    own = matrix.diagonal().min()
    print(f"{documents} documents of {tokens} tokens: {found}")
    print(f"search {searched:.2f} s in {found.passes} + {found.more_passes} passes")
    print(f"full matrix {full:.2f} s, smallest own gradient {own:.1e}; ratio {full / searched:.1f}")
    forward, found = seconds(lambda: find_leaks(model, batch, forward=True))
    print(f"with forward=True {forward:.2f} s, {found.changes.passes} passes more")
    leaky = {name: value for name, value in batch.items() if name != "use_cache"}
    located, found = seconds(lambda: find_leaks(model, leaky))
    passes = found.passes + found.more_passes
    print(f"default call: {len(found.pairs)} pairs located in {located:.2f} s and {passes} passes")
    once, more = peak(lambda: step(model, batch)), peak(lambda: find_leaks(model, batch))
    print(f"peak of a training step {once / 1e6:.1f} MB, of the search {more / 1e6:.1f} MB: {more / once:.2f} of it")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
