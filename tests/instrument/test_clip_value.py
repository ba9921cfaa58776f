"""A clip by value is no fault and no other clip."""

import pytest
import torch

from tests.instrument import models
from tests.instrument.stepped import only, scale, sgd, window


@pytest.mark.parametrize("bound", [3e-2, 3e-3, 1e-4])
def test_a_clip_by_value_is_told_as_one(bound):
    model = models.llama()
    clip = torch.nn.utils.clip_grad_value_
    (verdict,) = window(model, sgd(model), lambda: clip(model.parameters(), bound)).verdicts

    assert () == verdict.faults
    assert [f"clipped by value to {bound:g}"] == [said.split(":")[0] for said in verdict.remarks if "clipped" in said]


def test_a_clip_by_value_of_one_gradient_alone_is_one_of_a_partial_list():
    model = models.llama()
    head = model.lm_head.weight
    (verdict,) = window(model, sgd(model), lambda: head.grad.clamp_(-1e-2, 1e-2)).verdicts

    assert any(f.startswith("clipped on a partial list: the gradients of lm_head.weight") for f in verdict.faults)


def test_the_limit_of_a_norm_is_not_kept_by_a_clip_by_value():
    model = models.llama()
    clip = torch.nn.utils.clip_grad_value_

    assert "clip" == only(window(model, sgd(model), lambda: clip(model.parameters(), 1e-3), max_norm=1.0))[0]


def test_a_gradient_that_is_scaled_and_clipped_by_value_is_told():
    model = models.llama()

    def between():
        scale(model.parameters(), 2.0)
        torch.nn.utils.clip_grad_value_(model.parameters(), 5e-2)

    stage, fault = only(window(model, sgd(model), between))
    assert ("clip", "the gradient was multiplied by 2 between backward and the step, and clipped by value") == (
        stage,
        fault,
    )


def test_a_factor_on_some_gradients_before_a_clip_by_value_is_told():
    model = models.llama()

    def between():
        scale([p for p in model.parameters() if p.dim() < 2], 0.5)
        torch.nn.utils.clip_grad_value_(model.parameters(), 5e-2)

    (verdict,) = window(model, sgd(model), between).verdicts
    assert any(fault.startswith("clipped on a partial list") for fault in verdict.faults)
