"""The checks of adapters: clean as installed, and a layer that no gradient reaches is told."""

import pytest
import transformers
from torch import nn

from instrument.checks import choose


def found(name):
    (check,) = [c for c in choose("peft") if c.name == name]
    return check.judge(*check.run())


@pytest.mark.parametrize("name", [check.name for check in choose("peft")])
def test_every_adapter_is_reached(name):
    said, status, deviation = found(name)

    assert status == "ok", said
    assert deviation < 1e-5


@pytest.mark.filterwarnings("ignore:None of the inputs have requires_grad")
def test_embeddings_without_a_gradient_leave_the_head_alone(monkeypatch):
    # As in releases of transformers before 5, under reentrant checkpointing: the weights look right all the same.
    monkeypatch.setattr(transformers.PreTrainedModel, "enable_input_require_grads", lambda model: None)

    said, status, deviation = found("LoRA with a trained head, reentrant")
    assert (said.split(":")[0], status) == ("the head alone, 1 of 5", "known")
    assert deviation < 1e-5


def test_a_matrix_that_no_gradient_reaches_is_a_fault(monkeypatch):
    from instrument.loops import adapters

    def detached(model, **options):
        made = whole(model, **options)
        first = next(m for name, m in made.named_modules() if name.endswith("lora_A.default"))
        first.forward = lambda x: nn.functional.linear(x, first.weight.detach())
        return made

    whole = adapters.adapted
    monkeypatch.setattr(adapters, "adapted", detached)

    said, status, _ = found("LoRA, drawn")
    assert status == "FAULT"
    assert "parameters reached" in said
