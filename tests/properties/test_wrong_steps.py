"""R11 and R13, turned round: what is wrong behind backward is told, however little of the model it meets."""

import numpy as np
import torch
from hypothesis import given
from hypothesis import strategies as st

from instrument import make_batch, watch
from tests.faults.wrong_step_scenarios import one_step
from tests.instrument import models
from tests.properties.loops import live_rows
from tests.properties.strategies import few

PARAMETERS = 21
factors = st.sampled_from([0.25, 0.9, 0.999])
numbers = st.integers(0, PARAMETERS - 1)


def stage_and_faults(report):
    """Of a window whose token weights are right."""
    (verdict,) = report.verdicts
    assert "token mean" == verdict.name
    return verdict.stage, " ".join(verdict.faults)


@few
@given(some=st.sets(numbers, min_size=1, max_size=PARAMETERS - 1), factor=factors)
def test_a_clip_of_some_parameters_is_told(some, factor):
    def clip(held):
        for number in some:
            held[number].grad.mul_(factor)

    report = one_step(behind_backward=clip)

    stage, faults = stage_and_faults(report)
    assert ("clip", True) == (stage, "clipped on a partial list" in faults)
    expected = [factor if number in some else 1.0 for number in range(PARAMETERS)]
    np.testing.assert_allclose(report.windows[0].after.factor(), expected, rtol=1e-4)


@few
@given(number=numbers, factor=st.sampled_from([0.5, 1.5, 2.0]))
def test_one_parameter_that_moves_otherwise_is_told(number, factor):
    def meddle(held, before):
        held[number].copy_(before[number] + factor * (held[number] - before[number]))

    stage, faults = stage_and_faults(one_step(meddle, model=models.llama().double()))

    name = [name for name, _ in models.llama().named_parameters()][number]
    assert "step" == stage
    assert faults.startswith(f"{name} moved by {factor:.4g} times")


@few
@given(share=st.sampled_from([0.25, 0.5, 0.75]), back=st.booleans())
def test_a_part_of_each_matrix_that_stays_is_told(share, back):
    def meddle(held, before):
        for parameter, was in zip(held, before):
            kept = int(share * parameter.numel())
            part = slice(-kept, None) if back else slice(0, kept)
            if parameter.dim() > 1:
                parameter.flatten()[part] = was.flatten()[part]

    assert "step" == stage_and_faults(one_step(meddle))[0]


@few
@given(factor=st.sampled_from([0.5, 1.001, 2.0]))
def test_a_factor_on_every_gradient_is_told(factor):
    model = models.llama()
    for parameter in model.parameters():
        parameter.register_hook(lambda gradient: factor * gradient)

    stage, faults = stage_and_faults(one_step(model=model))

    assert ("backward", True) == (stage, f"it is {factor:.6g} times it" in faults)


@few
@given(layers=st.sampled_from([[1, 2], [2, 1], [2, 1, 2], [1, 2, 1]]), seed=st.integers(0, 2**16))
def test_reach_is_that_of_each_micro_batch(layers, seed):
    model = models.llama(seed)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    with watch(model, optimizer) as report:
        for number in layers:
            model.config.num_hidden_layers = number
            model(**make_batch(live_rows([5, 4], seed))).loss.backward()
        optimizer.step()

    reach = report.windows[0].after.reach
    for name, row in zip(reach.names, reach.nonzero):
        assert [number == 2 or "layers.1." not in name for number in layers] == row.tolist()
