"""R13 and R9: the gradient reaches exactly what should train, through adapters, freezing and checkpointing."""

import re

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from instrument import watch
from tests.instrument import models
from tests.properties.loops import live_model
from tests.properties.updates import backward_of, batches_of
from tests.strategies import shapes

few = settings(max_examples=max(2, settings.default.max_examples // 12))


def at_the_start(model):
    """B of every adapter is zero, as peft makes it."""
    for name, parameter in model.named_parameters():
        if "lora_B" in name:
            parameter.data.zero_()
    return model


def frozen_but(part):
    """A Llama of which one part trains."""
    model = live_model(0)
    for name, parameter in model.named_parameters():
        parameter.requires_grad_(part in name)
    return model


ZERO = re.compile("zero, as [AB] is 0$")
WIDE = ["q_proj", "v_proj", "down_proj"]
MODELS = {
    "all": lambda: live_model(0),
    "tied": lambda: live_model(0, tie_word_embeddings=True),
    "LoRA": lambda: models.with_lora(target=WIDE),
    "LoRA at the start": lambda: at_the_start(models.with_lora(target=WIDE)),
    "LoRA on the embedding": lambda: models.with_lora(target=["embed_tokens", "q_proj"]),
    "LoRA on the head": lambda: models.with_lora(target=["lm_head", "q_proj"]),
    "DoRA": lambda: models.with_lora(target=WIDE, use_dora=True),
    "modules_to_save": lambda: models.with_lora(target=WIDE, modules_to_save=["lm_head", "embed_tokens"]),
    "LoRA beside a saved head": lambda: models.with_lora(target=WIDE, modules_to_save=["lm_head"]),
    "only the norms": lambda: frozen_but("norm"),
    "only the embedding": lambda: frozen_but("embed_tokens"),
    "only the first layer": lambda: frozen_but("layers.0"),
    "only the head": lambda: frozen_but("lm_head"),
}


def train(model, shape, **options):
    """Watch AdamW on what trains."""
    optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=1e-2)
    with watch(model, optimizer) as report:
        for window in batches_of(shape):
            backward_of(model, window, **options)
            optimizer.step()
            optimizer.zero_grad()
    return report


@pytest.mark.parametrize("kind", MODELS)
@few
@given(shape=shapes(max_rows=4))
def test_exactly_what_should_train_is_reached(kind, shape):
    model = MODELS[kind]()
    expected = {name for name, p in model.named_parameters() if p.requires_grad}
    # What is named to be saved trains whole, beside the adapters.
    saved = {name for name in expected if "modules_to_save" in name}
    assert {"modules_to_save": 2, "LoRA beside a saved head": 1}.get(kind, 0) == len(saved)
    adapters = {name for name, _ in model.named_parameters() if "lora_" in name}
    assert not adapters or expected == adapters | saved
    # Of an embedding, peft makes A zero.
    half = {"LoRA at the start": "lora_A", "LoRA on the embedding": "lora_embedding_B"}.get(kind)
    zero = {name for name in expected if half is not None and half in name}
    # Where only a first token is scored, attention has nothing to choose from.
    alone = {name for name in expected if "q_proj" in name or "k_proj" in name or "q_norm" in name}

    report = train(model, shape)

    for number, (window, verdict) in enumerate(zip(report.windows, report.verdicts)):
        reach = window.after.reach
        assert expected == set(reach.names)
        assert (len(expected), window.micro_batches) == reach.arrived.shape
        assert reach.arrived.all()
        # Other tokens than those of the first window still have zeros in A.
        late = zero if kind == "LoRA on the embedding" and number else set()
        without = {name for name, row in zip(reach.names, reach.nonzero) if not row.all()}
        assert (zero if number == 0 else set()) - alone == without - alone - late
        assert () == verdict.faults
        assert (number == 0 and bool(zero)) == any(ZERO.search(said) for said in verdict.remarks)


# A block whose inputs are frozen is what the test is there to notice.
@pytest.mark.filterwarnings("ignore:None of the inputs have requires_grad=True:UserWarning")
@pytest.mark.parametrize("kind", ["all", "LoRA", "LoRA beside a saved head", "only the first layer"])
@pytest.mark.parametrize("reentrant", [False, True])
@few
@given(shape=shapes(max_rows=4))
def test_neither_kind_of_checkpointing_changes_weights_or_reach(kind, reentrant, shape):
    measured = []
    for checkpointed in (False, True):
        model = MODELS[kind]()
        inner = models.inner(model)
        if checkpointed:
            inner.activation_checkpointing_enable({"use_reentrant": reentrant})
            if reentrant:
                inner.enable_input_require_grads()
        model.train()
        report = train(model, shape, use_cache=False)
        assert all(verdict.ok for verdict in report.verdicts)
        measured.append(
            [(w.after.reach.nonzero.tolist(), [r.weight.round(9).tolist() for r in w.rows]) for w in report.windows]
        )

    assert [reach for reach, _ in measured[0]] == [reach for reach, _ in measured[1]]
    report.assert_token_mean()


@few
@given(shape=shapes(max_rows=3), saved=st.booleans())
def test_frozen_inputs_under_reentrant_checkpointing_are_told(shape, saved):
    model = models.with_lora(target=WIDE, **({"modules_to_save": ["lm_head"]} if saved else {}))
    inner = models.inner(model)
    inner.activation_checkpointing_enable({"use_reentrant": True})
    # transformers has learnt to enable it by itself.
    inner.disable_input_require_grads()
    model.train()
    trainable = sum(p.requires_grad for p in model.parameters())

    with pytest.warns(UserWarning, match="None of the inputs have requires_grad=True"):
        report = train(model, shape, use_cache=False)

    for verdict in report.verdicts:
        told = f"weights right, {int(saved)} of {trainable} trainable parameters reached"
        assert 1 == sum(fault.startswith(told) for fault in verdict.faults)
        assert "backward" == verdict.stage
