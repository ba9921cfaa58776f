"""nanoGPT: its own train.py, four micro-batches a step, on random tokens.

git clone https://github.com/karpathy/nanoGPT  (read at 3adf61e)
python benchmarks/neighbours/nanogpt.py nanoGPT
"""

import os
import runpy
import shutil
import sys
import tempfile
from pathlib import Path

import numpy as np

from instrument import watch

SIZES = ["--n_layer=2", "--n_head=2", "--n_embd=32", "--block_size=16", "--batch_size=2"]
STEPS = ["--gradient_accumulation_steps=4", "--max_iters=1", "--eval_iters=1", "--eval_interval=100"]
MACHINE = ["--device=cpu", "--dtype=float32", "--compile=False", "--dataset=random"]

with tempfile.TemporaryDirectory() as folder:
    shutil.copytree(sys.argv[1], folder, dirs_exist_ok=True)
    os.chdir(folder)
    Path("data/random").mkdir()
    for split in ("train", "val"):
        np.random.default_rng(0).integers(0, 200, 4096).astype(np.uint16).tofile(f"data/random/{split}.bin")
    sys.path.insert(0, folder)
    from model import GPT  # type: ignore[import-not-found]  # nanoGPT's

    configure = GPT.configure_optimizers

    def configured(model, *more):
        optimizer = configure(model, *more)
        opened.append(watch(model, optimizer, max_norm=1.0, read_point="transformer.ln_f", head="lm_head"))
        reports.append(opened[0].__enter__())
        return optimizer

    opened: list[watch] = []
    reports: list = []
    GPT.configure_optimizers = configured
    sys.argv = ["train.py", *SIZES, *STEPS, *MACHINE]
    runpy.run_path("train.py", run_name="__main__")
    opened[0].__exit__(None, None, None)
    print(reports[0])
