"""What the instrument may spend in a step, counted in operations: no clock, so it says the same on every machine."""

import ast
from contextlib import nullcontext
from pathlib import Path

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from instrument import make_batch, watch
from tests.instrument import models
from tests.instrument.live_bytes import LiveBytes
from tests.instrument.loops import ROWS

ROOT = Path(__file__).parents[2]
VOCABULARY = 3000


class Counted(TorchDispatchMode):
    """Counts the operations of torch, and elements of matrices that went through exp: a softmax behind any chunks."""

    def __init__(self):
        super().__init__()
        self.operations = self.exponentials = 0

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        self.operations += 1
        if function in (torch.ops.aten.exp_.default, torch.ops.aten.exp.default) and args[0].dim() == 2:
            self.exponentials += args[0].numel()
        assert function is not torch.ops.aten._softmax.default or args[0].shape[-1] < VOCABULARY
        return function(*args, **(kwargs or {}))


def second_window(watched, layers=1):
    """What is counted in one window; in the first it is found out what the head does."""
    model = models.llama(vocab_size=VOCABULARY, num_hidden_layers=layers)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    counted = Counted()
    with watch(model, optimizer) if watched else nullcontext():
        for around in (nullcontext(), counted):
            with around:
                model(**make_batch(ROWS)).loss.backward()
                optimizer.step()
                optimizer.zero_grad()
    return counted, len(list(model.parameters()))


def test_a_reading_takes_exactly_one_softmax_for_each_target():
    targets = int((make_batch(ROWS)["labels"][:, 1:] >= 0).sum())

    found = second_window(watched=True)[0].exponentials - second_window(watched=False)[0].exponentials

    assert targets * VOCABULARY == found


def test_the_operations_of_a_window_are_bounded_for_each_parameter_and_beside_them():
    over, parameters = {}, {}
    for layers in (1, 4):
        (plain, _), (watched, parameters[layers]) = (second_window(on, layers) for on in (False, True))
        over[layers] = watched.operations - plain.operations

    # 6 and 210 as counted with torch 2.13: whoever reads a gradient, a parameter or its state once more is over it.
    each = (over[4] - over[1]) / (parameters[4] - parameters[1])
    assert each <= 7
    assert over[1] - each * parameters[1] <= 230


@pytest.mark.parametrize("tokens", [1024, 2048])
def test_the_peak_grows_by_less_than_one_copy_of_the_hidden_states(tokens):
    peaks = []
    for watched in (False, True):
        model = models.llama(vocab_size=512, hidden_size=256, intermediate_size=512, num_hidden_layers=2)
        optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
        ids = torch.arange(tokens).remainder(509).reshape(-1, 64) + 3
        with watch(model, optimizer) if watched else nullcontext():
            for around in (nullcontext(), LiveBytes()):
                with around:
                    model(input_ids=ids, labels=ids).loss.backward()
                    optimizer.step()
                    optimizer.zero_grad()
        peaks.append(around.peak)

    assert peaks[1] - peaks[0] < tokens * 256 * 4


@pytest.mark.parametrize("name", sorted(str(path.relative_to(ROOT)) for path in (ROOT / "instrument").rglob("*.py")))
def test_nothing_is_copied_to_the_host_without_waiting(name):
    calls = [node for node in ast.walk(ast.parse((ROOT / name).read_text())) if isinstance(node, ast.Call)]

    assert not [c.lineno for c in calls if any(keyword.arg == "non_blocking" for keyword in c.keywords)]
