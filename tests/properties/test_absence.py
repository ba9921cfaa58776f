"""R12: training with the instrument attached is bitwise the training without it."""

from contextlib import nullcontext

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from transformers import Gemma2Config, Gemma2ForCausalLM, GPT2Config, GPT2LMHeadModel

from instrument import build_probe, tracer_rows, watch, watch_leaks, xray_rows
from instrument.probe import vocabulary_for
from tests.properties.loops import LOOPS, labels_of, live_model, live_rows
from tests.strategies import shapes

OPTIONS = {"trainer": {"optim": "adamw_torch", "learning_rate": 1e-2}, "accelerate": {}, "by hand": {"lr": 1e-2}}


def with_dropout(seed):
    """A GPT-2 that draws random numbers in every forward."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        config = GPT2Config(
            vocab_size=61,
            n_embd=32,
            n_layer=2,
            n_head=4,
            n_positions=32,
            bos_token_id=1,
            eos_token_id=2,
            pad_token_id=0,
        )
        return GPT2LMHeadModel(config)


def soft_capped(seed):
    """A head that the live instrument has to replay."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        config = Gemma2Config(
            vocab_size=61, hidden_size=32, intermediate_size=48, num_hidden_layers=2, num_attention_heads=4,
            num_key_value_heads=2, head_dim=8, final_logit_softcapping=2.0,
        )  # fmt: skip
        return Gemma2ForCausalLM(config)


MODELS = {"llama": live_model, "dropout": with_dropout, "soft-cap": soft_capped}


def state(model):
    """All that a later step could depend on."""
    modules = dict(model.named_modules())
    return {
        "parameters": {name: p.detach().clone() for name, p in model.named_parameters()},
        "gradients": {name: p.grad for name, p in model.named_parameters()},
        "random": torch.get_rng_state(),
        "training": {name: m.training for name, m in modules.items()},
        "requires_grad": {name: p.requires_grad for name, p in model.named_parameters()},
        "hooks": {name: [len(h) for h in hooks_of(m)] for name, m in modules.items()},
        "own": {name: sorted(m.__dict__) for name, m in modules.items()},
    }


def hooks_of(module):
    """Every table of hooks that a module has."""
    return [
        module._forward_hooks,
        module._forward_pre_hooks,
        module._backward_hooks,
        module._backward_pre_hooks,
        module._forward_hooks_with_kwargs,
        module._forward_pre_hooks_with_kwargs,
        module._forward_hooks_always_called,
    ]


def assert_same(a, b):
    """Equal to the last bit."""
    assert a.keys() == b.keys()
    for name in a:
        if isinstance(a[name], dict):
            assert_same(a[name], b[name])
        elif isinstance(a[name], torch.Tensor):
            assert torch.equal(a[name], b[name]), name
        else:
            assert a[name] == b[name], name


def order_of(model):
    """The ids that the model is run on, in order."""
    seen = []
    model.register_forward_pre_hook(lambda m, args, kwargs: seen.append(kwargs["input_ids"].clone()), with_kwargs=True)
    return seen


@pytest.mark.parametrize("kind", MODELS)
@pytest.mark.parametrize("loop", LOOPS)
@given(shape=shapes())
def test_watching_changes_nothing(kind, loop, shape):
    rows = live_rows(shape.lengths, shape.seed)
    labels = labels_of(rows, shape.labelled)
    states, orders, logs = [], [], []
    for watched in (False, True):
        model = MODELS[kind](shape.seed)
        seen = order_of(model)
        torch.manual_seed(shape.seed)

        def train(model=model):
            return LOOPS[loop](
                model, rows, labels, micro_batch=shape.micro_batch, accumulation=shape.accumulation, **OPTIONS[loop]
            )

        if watched:
            with watch(model):
                logs.append(train())
        else:
            logs.append(train())
        states.append(state(model))
        orders.append({str(i): ids for i, ids in enumerate(seen)})

    assert_same(*states)
    assert_same(*orders)
    assert logs[0] == logs[1]


@pytest.mark.parametrize("loop", LOOPS)
@given(lengths=st.lists(st.integers(3, 6), min_size=2, max_size=6), seed=st.integers(0, 2**16))
def test_searching_for_leaks_changes_nothing(loop, lengths, seed):
    rows = live_rows(lengths, seed)
    states = []
    for searched in (False, True):
        model = with_dropout(seed)
        torch.manual_seed(seed)
        with watch_leaks(model, forward=True) if searched else nullcontext():
            LOOPS[loop](model, rows, rows, micro_batch=2, accumulation=1, **OPTIONS[loop])
        states.append(state(model))

    assert_same(*states)


@pytest.mark.parametrize("loop", LOOPS)
@given(shape=shapes())
def test_the_probe_trains_as_it_would_alone(loop, shape):
    rows = tracer_rows(shape.lengths, shape.seed)
    labels = labels_of(rows, shape.labelled)
    kept = []

    def step(model, rows):
        kept.append(model)
        torch.manual_seed(shape.seed)
        LOOPS[loop](
            model, rows, labels, micro_batch=shape.micro_batch, accumulation=shape.accumulation, **OPTIONS[loop]
        )

    step(build_probe(vocabulary_for(rows), shape.seed), rows)
    alone = state(kept[0])
    xray_rows(step, rows, shape.seed)
    measured = state(kept[1])

    assert_same(alone, measured)


@given(seed=st.integers(0, 2**16))
def test_optimizer_state_is_the_same(seed):
    moments = []
    for watched in (False, True):
        model = live_model(seed)
        optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
        ids = torch.tensor(live_rows([6, 6], seed))

        def train(model=model, optimizer=optimizer, ids=ids):
            for _ in range(2):
                model(input_ids=ids, labels=ids).loss.backward()
                optimizer.step()
                optimizer.zero_grad()

        if watched:
            with watch(model):
                train()
        else:
            train()
        moments.append({str(k): v for k, v in optimizer.state_dict()["state"].items()})

    assert_same(*moments)
