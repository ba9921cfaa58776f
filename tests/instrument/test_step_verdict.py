"""Each parameter is held against the rule by its own options, step and state, whatever stands beside it."""

import numpy as np
import pytest
import torch

from instrument import step_reading
from instrument.step_verdict import compared

OPTIMIZERS = {
    "AdamW": lambda groups: torch.optim.AdamW(groups, lr=1e-2, weight_decay=0.1),
    "Adam": lambda groups: torch.optim.Adam(groups, lr=1e-2, weight_decay=0.1, amsgrad=True, maximize=True),
    "SGD": lambda groups: torch.optim.SGD(groups, lr=1e-2),
    "momentum": lambda groups: torch.optim.SGD(groups, lr=1e-2, momentum=0.9, dampening=0.5, weight_decay=0.1),
}


def steps(kind, count=3, spoilt=None, size=1.0):
    """Readings of steps; "late" has a gradient from the second one on; a spoilt parameter moves twice as far."""
    made = torch.Generator().manual_seed(0)
    shapes = {"small": (3,), "large": (40, 7), "late": (5, 5), "other rate": (3, 4)}
    held = {name: torch.randn(shape, generator=made, requires_grad=True) for name, shape in shapes.items()}
    first = [p for name, p in held.items() if name != "other rate"]
    optimizer = OPTIMIZERS[kind]([{"params": first}, {"params": [held["other rate"]], "lr": 0.3}])
    found = []
    for number in range(count):
        for name, p in held.items():
            p.grad = None if name == "late" and number == 0 else torch.randn(p.shape, generator=made) * size
        reading = step_reading.begin(optimizer, held, [optimizer])
        before = {name: p.detach().clone() for name, p in held.items()}
        optimizer.step()
        if spoilt is not None:
            with torch.no_grad():
                held[spoilt].add_(held[spoilt] - before[spoilt])
        step_reading.end(reading, optimizer, held)
        found.append(compared(reading))
    return list(held), found


@pytest.mark.parametrize("kind", OPTIMIZERS)
def test_a_right_step_is_right_at_every_parameter(kind):
    names, found = steps(kind)

    for number, step in enumerate(found):
        judged = np.array([name != "late" or number > 0 for name in names])
        np.testing.assert_array_equal(0, step.off)
        assert not step.hidden.any()
        np.testing.assert_allclose(1, step.consumed[judged], rtol=1e-5)
        # p up to 3 and changes of about 1e-2 by their norm: 3 u |p| / |change| is 5e-5.
        np.testing.assert_allclose(1, step.moved[judged], rtol=5e-5)
        assert np.isnan(step.moved[~judged]).all()


@pytest.mark.parametrize("kind", OPTIMIZERS)
@pytest.mark.parametrize("size", [1e-18, 1e-20, 1e-23, 1e-42])
def test_a_gradient_whose_square_is_below_the_normal_numbers_is_no_fault(kind, size):
    _, found = steps(kind, size=size)

    for step in found:
        np.testing.assert_array_equal(0, step.off)


@pytest.mark.parametrize("spoilt", ["small", "large", "other rate"])
@pytest.mark.parametrize("kind", OPTIMIZERS)
def test_a_change_twice_as_large_is_told_of_its_own_parameter_alone(kind, spoilt):
    names, (step, *_) = steps(kind, spoilt=spoilt)

    assert [spoilt] == [name for name, off in zip(names, step.off) if off]
    assert abs(step.moved[names.index(spoilt)] - 2) < 1e-2


class Moving(torch.optim.SGD):
    """Lays what a step makes into new memory, and leaves the old as it was."""

    def step(self, closure=None):
        for group in self.param_groups:
            for p in group["params"]:
                p.data = p.data - group["lr"] * p.grad


@pytest.mark.parametrize("size", [3, 40])
def test_a_step_is_read_where_it_lies_when_it_lies_elsewhere(size):
    parameter = torch.nn.Parameter(torch.linspace(1, 2, size))
    parameter.grad = torch.ones(size)
    optimizer = Moving([parameter], lr=0.25)

    reading = step_reading.begin(optimizer, {"weight": parameter}, [optimizer])
    optimizer.step()
    step_reading.end(reading, optimizer, {"weight": parameter})

    np.testing.assert_array_equal(0.25, (reading.before - reading.after)[:, : min(size, 16)])
    assert reading.elements is None


def test_tensors_of_several_types_are_read_in_their_places():
    held = {
        str(n): torch.full((n + 1,), float(n), dtype=dtype)
        for n, dtype in enumerate((torch.float32, torch.bfloat16, torch.float64, torch.float32))
    }
    held["across"] = torch.arange(40.0).reshape(8, 5).t()

    before, nothing = step_reading.Elements().read([list(held.values()), [None] * 5])

    for n in range(4):
        np.testing.assert_array_equal([float(n)] * (n + 1) + [np.nan] * (15 - n), before[n])
    np.testing.assert_array_equal(held["across"].flatten()[0:32:2], before[4])
    assert np.isnan(nothing).all()
