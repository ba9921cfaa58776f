"""A model that cannot be watched is refused at once, with the reason and what to do."""

import pytest
import torch
from peft import PrefixTuningConfig, PromptEncoderConfig, PromptTuningConfig, get_peft_model
from torch import nn
from transformers import LlamaForQuestionAnswering

from instrument import make_batch, watch
from tests.instrument import models
from tests.instrument.messages import says


def test_a_fully_frozen_model():
    model = models.llama().requires_grad_(False)

    with pytest.raises(
        ValueError, match=says("none of the 21 parameters of LlamaForCausalLM", "unfreeze what should train")
    ):
        watch(model)


def wrapped(model):
    return torch.compile(model, backend="eager")


def in_place(model):
    model.compile(backend="eager")
    return model


def a_module_of_it(model):
    next(iter(model.children())).compile(backend="eager")
    return model


@pytest.mark.parametrize("compiled", [wrapped, in_place, a_module_of_it])
@pytest.mark.parametrize("kind", ["llama", "LoRA"])
def test_a_compiled_model(compiled, kind):
    model = compiled(models.MODELS[kind]())

    with pytest.raises(ValueError, match=says("is compiled already", "never fire", "start watching before compiling")):
        watch(model)


def test_a_compiled_model_of_ones_own():
    with pytest.raises(ValueError, match=says("is compiled already")):
        watch(wrapped(models.written()), read_point="norm", head="out")


@pytest.mark.parametrize(
    ("arguments", "kind", "message"),
    [
        ({}, ValueError, says("Written is no causal model", "pass read_point=", "head=")),
        ({"read_point": "norm"}, ValueError, says("read_point= was given without head=", "go together")),
        ({"head": "out"}, ValueError, says("head= was given without read_point=", "go together")),
        (
            {"read_point": "norn", "head": "out"},
            LookupError,
            says("Written has no module 'norn'; it has embed, mix, norm, out"),
        ),
        ({"read_point": "norm", "head": "lm_head"}, LookupError, says("Written has no module 'lm_head'; it has embed")),
    ],
)
def test_a_written_model_that_cannot_be_found_into(arguments, kind, message):
    with pytest.raises(kind, match=message):
        watch(models.written(), **arguments)


class WithHeadOnly(models.Written):
    """Says what its head is, but has no base model."""

    def get_output_embeddings(self):
        return self.out


def answering():
    """Has a base model, but no head over a vocabulary."""
    return LlamaForQuestionAnswering(models.llama().config)


@pytest.mark.parametrize("make", [lambda: models.llama().model, WithHeadOnly, answering])
def test_a_model_without_a_base_or_without_a_head(make):
    model = models.seeded(make)

    with pytest.raises(ValueError, match=says(f"{type(model).__name__} is no causal model of transformers")):
        watch(model)


def test_nothing_can_be_watched_in_a_plain_layer():
    with pytest.raises(ValueError, match=says("Linear is no causal model")):
        watch(nn.Linear(2, 2))


# peft asks a model by a name that transformers is giving up.
@pytest.mark.filterwarnings("ignore:`is_gradient_checkpointing`:FutureWarning")
@pytest.mark.parametrize("kind", [PromptTuningConfig, PrefixTuningConfig, PromptEncoderConfig])
def test_prompt_learning(kind):
    model = get_peft_model(models.llama(), kind(task_type="CAUSAL_LM", num_virtual_tokens=3))

    with pytest.raises(ValueError, match=says(f"{kind.__name__} puts learned positions before the tokens", "no ids")):
        watch(model)


# Emulated: deepspeed is not among what the tests install. It leaves these marks on every parameter that it takes over.
zero = pytest.mark.parametrize("mark", ["_hp_mapping", "ds_id"], ids=["ZeRO-1 and 2", "ZeRO-3"])
by_name = says("LlamaForCausalLM is trained by DeepSpeed's ZeRO", "no step on the model's parameters would be seen")


def taken_over(model, mark):
    for parameter in model.parameters():
        setattr(parameter, mark, None)
    return model


@zero
def test_a_model_that_zero_trains(mark):
    with pytest.raises(NotImplementedError, match=by_name):
        watch(taken_over(models.llama(), mark))


@zero
def test_a_model_that_zero_takes_over_while_it_is_watched(mark):
    model = models.llama()

    with pytest.raises(NotImplementedError, match=by_name), watch(model):
        taken_over(model, mark)
        model(**make_batch([[3, 4, 5]])).loss.backward()


def test_an_optimizer_of_zero():
    # Emulated by its module's name.
    optimizer = type("DeepSpeedZeroOptimizer", (), {"__module__": "deepspeed.runtime.zero.stage_1_and_2"})()

    with pytest.raises(NotImplementedError, match=says("DeepSpeedZeroOptimizer is trained by DeepSpeed's ZeRO")):
        watch(models.llama(), optimizer)
