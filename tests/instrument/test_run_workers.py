"""`weighbridge run` in a process of its own: what a script and its workers say and do is theirs, and stays in order."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.instrument.scripts import LOOP, script

ROOT = Path(__file__).parents[2]

# Classes stand where a spawned process finds them, and what trains behind the guard that it needs.
SCRIPT = """
    import hashlib
    import multiprocessing
    import os
    import sys

    import torch
    from torch.utils.data import DataLoader, Dataset


    class Rows(Dataset):
        def __len__(self):
            return 8

        def __getitem__(self, number):
            generator = torch.Generator().manual_seed(number)
            return torch.randint(3, 50, (4 + 4 * (number // 2 % 2),), generator=generator), os.getpid()


    def square(number):
        return number * number


    def by_loader(start):
        return DataLoader(Rows(), batch_size=2, num_workers=1, multiprocessing_context=start)


    def by_pool(start):
        with multiprocessing.get_context(start).Pool(1) as pool:
            print("squares", pool.map(square, range(4)))
        return DataLoader(Rows(), batch_size=2)


    if __name__ == "__main__":
        from transformers import LlamaConfig, LlamaForCausalLM

        torch.manual_seed(0)
        sizes = {"hidden_size": 16, "intermediate_size": 24, "num_hidden_layers": 1, "num_attention_heads": 2}
        model = LlamaForCausalLM(LlamaConfig(vocab_size=50, **sizes))
        optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
        loader = {"loader": by_loader, "pool": by_pool}[sys.argv[1]](sys.argv[2])
        for at, (ids, made_by) in enumerate(loader):
            (model(input_ids=ids, labels=ids).loss / 2).backward()
            if at % 2:
                optimizer.step()
                optimizer.zero_grad()
                print("step", at, "rows made here:", (made_by == os.getpid()).all().item())
        print(hashlib.sha256(b"".join(p.detach().numpy().tobytes() for p in model.parameters())).hexdigest())
        sys.exit(7)
"""


def in_a_process(*command):
    """What a command says, and its status."""
    return subprocess.run([sys.executable, *command], capture_output=True, text=True, env=environment())


def environment():
    """That of this process, without what takes the buffer off a stream."""
    plain = {word: value for word, value in os.environ.items() if word != "PYTHONUNBUFFERED"}
    return {**plain, "PYTHONPATH": str(ROOT), "TOKENIZERS_PARALLELISM": "false"}


@pytest.mark.spawn
@pytest.mark.parametrize("start", ["fork", "spawn"])
@pytest.mark.parametrize("way", ["loader", "pool"])
def test_workers_of_a_script_tell_nothing_and_work_as_without_us(way, start):
    name = script(SCRIPT)

    told, plain = in_a_process("-m", "instrument.cli", "run", name, way, start), in_a_process(name, way, start)

    assert plain.stdout == told.stdout
    assert (7, 7) == (plain.returncode, told.returncode)
    assert told.stderr.startswith("weighbridge: FAULT [mean-of-micro-batch-means]")
    assert 1 == told.stderr.count("weighbridge: ")
    assert f"rows made here: {way == 'pool'}" in told.stdout


@pytest.mark.spawn
def test_what_a_script_says_in_two_streams_stays_in_order_and_stands_before_the_verdict():
    name = script(LOOP.replace('print("step", step)', 'print("step", step); print("beside", step, file=sys.stderr)'))
    joined = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True, "env": environment()}

    plain = subprocess.run([sys.executable, name], **joined).stdout
    told = subprocess.run([sys.executable, "-m", "instrument.cli", "run", name], **joined).stdout

    assert "beside 3" in plain
    assert told.startswith(f"{plain}weighbridge: FAULT")
