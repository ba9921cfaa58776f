"""Checkpointing and frozen parts change no weight, and a parameter that nothing reaches is told."""

import gc

import pytest
import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

from instrument import make_batch, watch, xray
from tests.instrument import models
from tests.instrument.loops import ROWS, assert_window_weights, batches, sgd


def freeze_all_but(model, part):
    """Leave one parameter trainable, or a part of the model."""
    for name, parameter in model.named_parameters():
        parameter.requires_grad_(part in name)


@pytest.mark.parametrize("reentrant", [False, True])
@pytest.mark.parametrize("part", ["", "embed_tokens", "lm_head", "layers.1.self_attn.q_proj"])
def test_weights_survive_checkpointing_and_freezing(reentrant, part):
    model = models.llama()
    freeze_all_but(model, part)
    models.checkpoint(model, reentrant)
    model.train()
    optimizer = sgd(model)

    with watch(model) as report:
        for batch in batches():
            model(**batch, use_cache=False).loss.backward()
        optimizer.step()

    assert_window_weights([[1 / 5, 1 / 4, 1 / 2]], report)
    assert (3, 3) == (report.windows[0].micro_batches, report.windows[0].forwards)


@pytest.mark.parametrize("reentrant", [False, True])
def test_the_probe_survives_checkpointing(reentrant):
    def step(model, rows):
        models.checkpoint(model, reentrant)
        model.train()
        model(**make_batch(rows), use_cache=False).loss.backward()
        modes.append(all(module.training for module in model.modules()))
        kept.append(model)

    modes, kept = [], []
    report = xray(step, [4, 6])

    report.assert_token_mean()
    assert [True] == modes
    assert all(module.training for module in kept[0].modules())


@pytest.mark.parametrize("reentrant", [False, True])
def test_the_whole_model_may_be_checkpointed(reentrant):
    model = models.llama()
    anchor = torch.ones((), requires_grad=True)

    with watch(model) as report:
        for batch in batches():
            # Reentrant checkpointing wants an input that requires a gradient.
            run = lambda anchor, batch=batch: anchor * model(**batch).loss  # noqa: E731
            checkpoint(run, anchor, use_reentrant=reentrant).backward()

    assert_window_weights([[1 / 5, 1 / 4, 1 / 2]], report)
    assert 3 == report.windows[0].micro_batches


class CheckpointedNorm(models.Written):
    """Checkpoints the block that holds the read point."""

    def forward(self, tokens, labels=None):
        # The head is in it, so that the norm is run again to the end.
        return checkpoint(lambda x: self.out(self.norm(self.mix(x)[0])), self.embed(tokens), use_reentrant=False)


def test_the_block_of_the_read_point_may_be_checkpointed():
    model, tokens = models.seeded(CheckpointedNorm), torch.tensor([ROWS[0]])

    with watch(model, read_point="norm", head="out") as report:
        for _ in range(3):
            nn.functional.cross_entropy(model(tokens)[0, :-1], tokens[0, 1:]).backward()

    assert_window_weights([[1 / 5] * 3], report)


def test_a_checkpointed_read_point_leaves_nothing_behind_in_fifty_steps():
    model, tokens, held = models.seeded(CheckpointedNorm), torch.tensor([ROWS[0]]), []
    optimizer = sgd(model)

    with watch(model, read_point="norm", head="out") as report:
        for _ in range(50):
            nn.functional.cross_entropy(model(tokens)[0, :-1], tokens[0, 1:]).backward()
            optimizer.step()
            optimizer.zero_grad()
            gc.collect()
            held.append(sum(isinstance(x, torch.Tensor) for x in gc.get_objects()))

    assert_window_weights([[1 / 5]] * 50, report)
    assert held[2] == held[49]


def test_a_lone_trainable_parameter_that_no_gradient_reaches_is_told():
    model = models.llama()
    freeze_all_but(model, "layers.0.self_attn.q_proj")
    layer = model.model.layers[0]
    inner = layer.forward
    layer.forward = lambda x, **kwargs: checkpoint(lambda x: inner(x, **kwargs), x, use_reentrant=True)

    with pytest.warns(UserWarning, match="None of the inputs have requires_grad=True"), watch(model) as report:
        model(**batches()[0], use_cache=False).loss.backward()

    assert_window_weights([[1 / 5]], report)
    assert "0 of 1 trainable parameters hold a gradient" in report.verdicts[0].faults
    with pytest.raises(AssertionError, match="0 of 1 trainable parameters hold a gradient"):
        report.assert_token_mean()
