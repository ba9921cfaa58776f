"""The own losses of the installed SFTTrainer, KTOTrainer and RewardTrainer on scripted outputs; GKD's divergence."""

import importlib
import warnings

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from transformers.modeling_outputs import SequenceClassifierOutput
from trl.trainer.distillation_trainer import _chunked_divergence_loss

from closed_forms import distillation, reward, supervised, unpaired
from tests.closed_forms.tokens import draw_log_p, draw_mask, row_numbers, seeds, widths
from tests.objectives.autograd import assert_gradient, negative_gradient
from tests.objectives.trl_trainers import build, leaf, script, weights, with_prompt

# TRL 1.16 reads the old name
pytestmark = pytest.mark.filterwarnings("ignore:`is_gradient_checkpointing` is deprecated:FutureWarning")


@pytest.fixture(scope="module")
def sft(tmp_path_factory):
    return build("sft", tmp_path_factory.mktemp("sft"))


@pytest.fixture(scope="module")
def kto(tmp_path_factory):
    folder = tmp_path_factory.mktemp("kto")
    options = {"desirable_weight": 2.0, "undesirable_weight": 3.0, "beta": 0.5, "per_device_train_batch_size": 2}
    return build("kto", folder, train_sampling_strategy="sequential", **options)


@pytest.fixture(scope="module")
def rewarder(tmp_path_factory):
    return build("reward", tmp_path_factory.mktemp("reward"), center_rewards_coefficient=0.25)


@pytest.fixture(scope="module")
def gkd():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # "APIs here are unstable"
        return importlib.import_module("trl.experimental.gkd").GKDTrainer


@pytest.mark.parametrize("loss_type", ["nll", "dft"])
@given(seed=seeds, rows=row_numbers, width=widths, count=st.sampled_from([None, 11]))
def test_sft(sft, loss_type, seed, rows, width, count):
    rng = np.random.default_rng(seed)
    mask, logp = draw_mask(rng, rows, width), draw_log_p(rng, rows, width)
    inputs = with_prompt(mask)
    marks = inputs.pop("completion_mask")
    sft.args.loss_type, table = loss_type, leaf(logp)
    script(sft.model, table)

    loss = sft.compute_loss(
        sft.model, inputs | {"labels": inputs["input_ids"].masked_fill(marks == 0, -100)}, num_items_in_batch=count
    )
    found = -torch.autograd.grad(loss, table)[0].numpy()
    denominator = mask.sum() if count is None else count
    forms = {"nll": lambda: supervised.nll(mask, denominator), "dft": lambda: supervised.dft(logp, mask, denominator)}
    assert_gradient(found, forms[loss_type](), argument=2, addend=1)


@given(seed=seeds, rows=st.integers(2, 5), width=widths)
def test_kto(kto, seed, rows, width):
    rng = np.random.default_rng(seed)
    mask, other, desirable = draw_mask(rng, rows, width), draw_mask(rng, rows, width), rng.integers(0, 2, rows)
    logp, reference, mixed, mixed_reference = draw_log_p(rng, 4, rows, width)
    table = leaf(logp)
    script(kto.model, torch.tensor(mixed), table)
    script(kto.ref_model, torch.tensor(mixed_reference), torch.tensor(reference))
    swapped = {f"KL_{name}": value for name, value in with_prompt(other).items()}

    found = weights(kto, with_prompt(mask) | swapped | {"label": torch.tensor(desirable)}, table)
    z0 = unpaired.kto_baseline(((mixed - mixed_reference) * other).sum(1))
    w_b = unpaired.kto(((logp - reference) * mask).sum(1), desirable, 0.5, z0, 2, 3)
    assert_gradient(found, mask * w_b[:, None], argument=12, addend=3)


@given(seed=seeds, pairs=st.integers(1, 4), with_margin=st.booleans())
def test_reward_model(rewarder, seed, pairs, with_margin):
    chosen, rejected, margin = np.random.default_rng(seed).integers(-128, 129, (3, pairs)) / 64
    table = leaf(np.concatenate([chosen, rejected])[:, None])
    rewarder.model.forward = lambda **_: SequenceClassifierOutput(logits=table)
    inputs = {"attention_mask": torch.ones((2 * pairs, 1))} | ({"margin": torch.tensor(margin)} if with_margin else {})

    found = weights(rewarder, inputs, table)[:, 0]
    expected = reward.bradley_terry(chosen, rejected, margin if with_margin else 0.0, 0.25)
    assert_gradient(found, np.concatenate(expected), argument=6, addend=3)


@given(seed=seeds, beta=st.sampled_from([0, 0.125, 0.5, 1]), temperature=st.sampled_from([0.5, 1, 2]))
def test_the_divergence_of_gkd(gkd, seed, beta, temperature):
    student, teacher = np.random.default_rng(seed).integers(-64, 65, (2, 4, 6)) / 16

    def loss(z):
        labels = torch.zeros(4, dtype=torch.long)
        return gkd.generalized_jsd_loss(z, torch.tensor(teacher), labels, beta, temperature, num_items_in_batch=7)

    (gradient,) = negative_gradient(loss, student)
    push = distillation.jsd(student, teacher, beta, temperature) / 7
    assert_gradient(gradient, push, argument=16 / temperature, addend=40 / temperature)


@given(seed=seeds, beta=st.sampled_from([0.0, 0.125, 0.5, 1.0]), temperature=st.sampled_from([0.5, 1.0, 2.0]))
def test_the_divergence_of_the_distillation_trainer(seed, beta, temperature):
    rng = np.random.default_rng(seed)
    # Small logits: TRL computes in float32, and the bound must stay below one per cent of a push.
    student, teacher = rng.integers(-16, 17, (2, 4, 6)) / 16
    mask, head = draw_mask(rng, 1, 4), torch.eye(6)
    hidden = torch.tensor(student[None], dtype=torch.float32, requires_grad=True)

    loss, *_ = _chunked_divergence_loss(
        hidden,
        torch.tensor(teacher[None], dtype=torch.float32),
        head,
        head,
        torch.tensor(mask),
        beta,
        num_items_in_batch=7,
        temperature=temperature,
    )
    found = -torch.autograd.grad(loss, hidden)[0].double().numpy()[0]
    push = mask[0][:, None] * distillation.jsd(student, teacher, beta, temperature) / 7
    bound = {"argument": 4 / temperature, "addend": 4 / temperature**2 / 7, "dtype": "float32"}
    assert_gradient(found, push, **bound)
    if np.abs(push).max() > 0.05:
        with pytest.raises(AssertionError):
            assert_gradient(1.01 * found, push, **bound)
