"""What `weighbridge run` costs a script with a step of some 60 ms: alone and measured in turn, in separate processes.

    python benchmarks/run_cost.py [PAIRS] [WINDOWS] [STEPS]

Hidden size 128, 4 layers, batch of 8 rows of 64 tokens, 512 tokens in the vocabulary, float32, AdamW, one thread. Steps
are compared by their processor time, recorded ones and those behind them with the same steps of the script alone; the
verdict by the clock, from the end of the last recorded step to its first line.
"""

import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

SCRIPT = """
import json, sys, time
import torch
from transformers import LlamaConfig, LlamaForCausalLM

torch.set_num_threads(1)
torch.manual_seed(0)
sizes = {"vocab_size": 512, "hidden_size": 128, "intermediate_size": 344, "num_hidden_layers": 4}
model = LlamaForCausalLM(LlamaConfig(**sizes, num_attention_heads=4, num_key_value_heads=4))
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
ids = torch.randint(3, 512, (8, 64))
spent = []
for step in range(int(sys.argv[1])):
    start = time.process_time()
    model(input_ids=ids, labels=ids).loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    spent.append(time.process_time() - start)
print(json.dumps({"spent": spent, "ended": time.time()}), flush=True)
"""


def seconds(name: Path, steps: int, *before: str) -> tuple[np.ndarray, float]:
    """Processor time of each step, and the clock from the end of the last one to the first line of a verdict."""
    words = [sys.executable, *before, str(name), str(steps)]
    process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout is not None and process.stderr is not None
    told = 0.0
    for line in process.stderr:
        if line.startswith("weighbridge:"):
            told = told or time.time()
    said = json.loads(process.stdout.read().splitlines()[-1])
    process.wait()
    return np.array(said["spent"]), told - said["ended"]


def main(pairs: int = 5, windows: int = 20, steps: int = 60) -> None:
    """Print the figures."""
    run = ("-c", "from instrument.cli import main; main()", "run", "--fail-on", "none", "--windows")
    recorded, behind, alone, waits = [], [], [], []
    with tempfile.TemporaryDirectory() as folder:
        name = Path(folder) / "train.py"
        name.write_text(SCRIPT)
        for _ in range(pairs):
            plain, _ = seconds(name, steps)
            measured, _ = seconds(name, steps, *run, str(windows))
            # The first steps warm the machine, and in the first recorded one it is found out what the head does.
            here, there = slice(3, windows), slice(windows + 3, None)
            recorded.append(np.median(measured[here]) / np.median(plain[here]))
            behind.append(np.median(measured[there]) / np.median(plain[there]))
            alone.append(1e3 * np.median(plain))
            # All steps are recorded, so that the script ends with the last of them.
            waits.append(seconds(name, 2, *run, "2")[1])
    print(
        f"plain step {np.median(alone):.1f} ms; recorded windows {np.median(recorded):.3f} of it "
        f"({min(recorded):.3f} to {max(recorded):.3f}), behind them {np.median(behind):.3f} "
        f"({min(behind):.3f} to {max(behind):.3f}); verdict {np.median(waits):.2f} s after the last recorded step "
        f"(medians of {pairs} pairs)"
    )


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
