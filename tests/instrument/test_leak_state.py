"""What a forward changes in a model beside its parameters is put back, before each pass and at the end."""

from collections import OrderedDict, defaultdict, deque

import pytest
import torch
from torch import nn

from instrument.leak import find_leaks
from instrument.leak_state import State
from instrument.leak_watch import watch_leaks
from tests.instrument.leak_models import Tagger, WithLoss, padded_batch


def rebinds(model):
    model.held = model.held + 1


def writes(model):
    model.held.add_(1)


def binds_another(model):
    model.new = torch.ones(2)


def unbinds(model):
    del model.held


def counts(model):
    model.count += 1


def appends(model):
    model.items.append(torch.ones(1))


def pops_and_writes(model):
    model.items.popleft().zero_()


def writes_deep(model):
    model.tree["a"][0][1].add_(1)
    model.tree["b"] = 5


def empties(model):
    model.tree["a"].clear()


def adds_to_a_set(model):
    model.names.add("later")


def writes_in_order(model):
    model.ordered["a"].add_(1)
    model.ordered["b"] = torch.ones(1)


def moves_to_the_end(model):
    model.ordered.move_to_end("a")


def asks_for_a_default(model):
    model.defaults["later"].append(1)


def draws(model):
    torch.rand(1, generator=model.source)


def registers_a_buffer(model):
    model.register_buffer("late", torch.ones(1), persistent=False)


def writes_a_buffer(model):
    model.kept.mul_(2)


def rebinds_a_buffer(model):
    model.kept = torch.zeros(1)


CHANGES = (
    rebinds,
    writes,
    binds_another,
    unbinds,
    counts,
    appends,
    pops_and_writes,
    writes_deep,
    empties,
    adds_to_a_set,
    writes_in_order,
    moves_to_the_end,
    asks_for_a_default,
    draws,
    registers_a_buffer,
    writes_a_buffer,
    rebinds_a_buffer,
)


class Keeps(nn.Module):
    """Holds state of every kind."""

    def __init__(self):
        super().__init__()
        self.held = torch.arange(3.0)
        self.count = 0
        self.items = deque([torch.ones(2)])
        self.tree = {"a": [(0, torch.zeros(2))]}
        self.names = {"first"}
        self.ordered = OrderedDict(a=torch.zeros(1), z=torch.zeros(1))
        self.defaults = defaultdict(list)
        self.source = torch.Generator().manual_seed(3)
        self.register_buffer("kept", torch.ones(1))
        # A container that holds itself.
        self.tree["self"] = self.tree


def state_of(model):
    return {
        "held": model.held.tolist(),
        "count": model.count,
        "items": [item.tolist() for item in model.items],
        "tree": [sorted(model.tree), [(n, value.tolist()) for n, value in model.tree["a"]]],
        "names": model.names.copy(),
        "ordered": [(name, value.tolist()) for name, value in model.ordered.items()],
        "defaults": dict(model.defaults),
        "source": model.source.get_state().tolist(),
        "buffers": {name: value.tolist() for name, value in model.named_buffers()},
        "attributes": {name: id(value) for name, value in vars(model).items()},
    }


@pytest.mark.parametrize("depth", [0, 1])
@pytest.mark.parametrize("change", CHANGES)
def test_any_change_is_undone(change, depth):
    keeps = Keeps()
    state = State(nn.Sequential(keeps) if depth else keeps)
    before = state_of(keeps)

    for _ in range(2):
        change(keeps)
        state.restore()
        assert state_of(keeps) == before


def test_what_did_not_change_is_not_written_to():
    keeps = Keeps()
    state = State(keeps)
    versions = keeps.held._version, keeps.kept._version

    state.restore()
    assert (keeps.held._version, keeps.kept._version) == versions


def test_parameters_are_not_copied():
    keeps = Keeps()
    keeps.weights = [nn.Parameter(torch.ones(2))]
    state = State(keeps)

    keeps.weights[0].data.add_(1)
    state.restore()
    assert keeps.weights[0].tolist() == [2, 2]


class Remembers(WithLoss):
    """Adds what it saw the last time, which it holds in a plain attribute."""

    def __init__(self):
        super().__init__(self.add)
        self.memory = torch.zeros(())

    def add(self, hidden):
        out = hidden + self.memory
        self.memory = hidden.detach().mean()
        return out


def test_a_plain_tensor_that_the_forward_rebinds_is_put_back():
    model = Remembers()

    find_leaks(model, padded_batch())
    assert model.memory == 0


def test_every_pass_starts_from_the_same_memory():
    seen = []

    class Notes(Tagger):
        memory = 0

        def forward(self, input_ids):
            seen.append(self.memory)
            self.memory += 1
            return super().forward(input_ids)

    find_leaks(Notes(), padded_batch())
    assert seen == [0] * 5


def test_training_a_model_with_memory_is_bitwise_the_same_under_watch():
    def trained(watching):
        model = Remembers()
        with watching(model):
            for _ in range(3):
                model(**padded_batch())[0].backward()
        return [p.grad for p in model.parameters()], model.memory

    watched = trained(lambda model: watch_leaks(model, batches=2))
    torch.testing.assert_close(watched, trained(lambda model: torch.enable_grad()), rtol=0, atol=0)
