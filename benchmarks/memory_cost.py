"""Peak memory of training a model of 125 million parameters on a CPU, alone and under `watch`, each in its own process.

    python benchmarks/memory_cost.py [TOKENS] [ROWS] [STEPS]

GPT-2's sizes (12 layers of 768, 50,257 tokens, a tied head), float32. The peak is what the system says that the process
has had resident (ru_maxrss), libraries included.
"""

import resource
import subprocess
import sys

import torch
from transformers import GPT2Config, GPT2LMHeadModel

from instrument import watch

RUNS = ("plain", "watch", "watch with the optimizer")


def train(run: str, optimizer_name: str, tokens: int, rows: int, steps: int) -> None:
    """Train in this process, and print its peak in bytes."""
    torch.manual_seed(0)
    torch.set_num_threads(1)
    model = GPT2LMHeadModel(GPT2Config(resid_pdrop=0.0, embd_pdrop=0.0, attn_pdrop=0.0))
    optimizer = getattr(torch.optim, optimizer_name)(model.parameters(), lr=1e-4)
    ids = torch.randint(0, 50_257, (rows, tokens))

    def loop() -> None:
        for _ in range(steps):
            model(input_ids=ids, labels=ids).loss.backward()
            optimizer.step()
            optimizer.zero_grad()

    if run == "plain":
        loop()
    else:
        with watch(model, optimizer if run.endswith("optimizer") else None):
            loop()
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024)


def main(tokens: int = 512, rows: int = 1, steps: int = 2) -> None:
    """Print the figures."""
    for optimizer in ("AdamW", "SGD"):
        found = {}
        for run in RUNS:
            words = [sys.executable, __file__, "child", run, optimizer, *map(str, (tokens, rows, steps))]
            said = subprocess.run(words, capture_output=True, text=True, check=True).stdout
            found[run] = int(said.splitlines()[-1])
        for run, peak in found.items():
            print(
                f"{optimizer}, {rows} x {tokens} tokens, {run}: {peak / 1e9:.3f} GB resident, "
                f"{peak / found['plain']:.3f} of the plain run"
            )


if __name__ == "__main__":
    if sys.argv[1:2] == ["child"]:
        train(sys.argv[2], sys.argv[3], *map(int, sys.argv[4:]))
    else:
        main(*map(int, sys.argv[1:]))
