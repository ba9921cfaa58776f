"""Scripts that train tiny models, and the command that runs them here, in the process of the test."""

import runpy
import sys
import textwrap
from pathlib import Path

from typer.testing import CliRunner

from instrument.cli import app

EXAMPLES = Path(__file__).parents[2] / "examples"

# A loop that everybody knows; it prints what it is made of at the end.
LOOP = """
    import hashlib
    import sys
    import torch
    from transformers import LlamaConfig, LlamaForCausalLM

    torch.manual_seed(0)
    sizes = {"hidden_size": 16, "intermediate_size": 24, "num_hidden_layers": 1, "num_attention_heads": 2}
    model = LlamaForCausalLM(LlamaConfig(vocab_size=50, **sizes))
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    for step in range(4):
        for n in (4, 8):
            ids = torch.randint(3, 50, (2, n))
            (model(input_ids=ids, labels=ids).loss / 2).backward()
        optimizer.step()
        optimizer.zero_grad()
        print("step", step)
    parts = [*(p.detach().float() for p in model.parameters()), torch.get_rng_state()]
    state = b"".join(part.numpy().tobytes() for part in parts)
    print(hashlib.sha256(state).hexdigest())
"""


def script(text, name="train.py"):
    """Write a script into the current folder."""
    Path(name).write_text(textwrap.dedent(text))
    return name


def run(*words):
    """`weighbridge run` here; what a process would keep, such as its path, is put back."""
    kept = sys.argv, list(sys.path), dict(sys.modules)
    try:
        return CliRunner().invoke(app, ["run", *map(str, words)])
    finally:
        sys.argv, sys.path[:] = kept[0], kept[1]
        sys.modules["__main__"] = kept[2]["__main__"]


def alone(name, *words):
    """What a script prints by itself."""
    import contextlib
    import io

    kept, sys.argv = sys.argv, [str(name), *words]
    try:
        with contextlib.redirect_stdout(io.StringIO()) as out:
            runpy.run_path(str(name), run_name="__main__")
    finally:
        sys.argv = kept
    return out.getvalue()
