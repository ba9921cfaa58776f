"""Unit gradients at the final hidden state equal full autograd for every head and state of a model."""

import numpy as np
import pytest
import torch

from instrument.live import LinearHead, ReplayedHead, read_live
from instrument.locate import locate
from tests.instrument import models
from tests.instrument.heads import by_autograd, random_ids, read, run, slack
from tests.instrument.models import MODELS, VOCABULARY

every_head = pytest.mark.parametrize("kind", MODELS)


@every_head
@pytest.mark.parametrize("scale", [1, 5])
def test_unit_gradients_are_those_of_full_autograd(kind, scale):
    model, ids = MODELS[kind]().double(), random_ids(2, 7)
    for parameter in model.parameters():
        parameter.data.mul_(scale)
    head, hidden, logits = run(model, ids)
    loss_bt = -torch.log_softmax(logits, -1).gather(-1, ids[..., None])[..., 0]

    found = read(head, hidden, by_autograd(hidden, loss_bt), ids)

    # Weight 1 and nothing left over: the gradient is the unit gradient.
    off = slack(logits, found)
    np.testing.assert_array_less(abs(found.weight - 1), off)
    np.testing.assert_array_less(found.remainder, off)
    np.testing.assert_array_less(abs(1 - found.cosine), off**2 + 1e-12)
    np.testing.assert_array_less(abs(found.loss - loss_bt.detach().flatten()), off)
    assert not found.uniform.any()


@every_head
def test_label_smoothing_is_split_off_with_any_head(kind):
    model, ids = MODELS[kind]().double(), random_ids(2, 5)
    head, hidden, logits = run(model, ids)
    log_p_btv = torch.log_softmax(logits, -1)
    loss_bt, uniform_bt = -log_p_btv.gather(-1, ids[..., None])[..., 0], -log_p_btv.mean(-1)

    found = read(head, hidden, by_autograd(hidden, 0.9 * loss_bt + 0.1 * uniform_bt), ids)

    off = slack(logits, found)
    np.testing.assert_array_less(abs(found.weight - 0.9), off)
    np.testing.assert_array_less(abs(found.uniform - 0.1), off)
    np.testing.assert_array_less(abs(found.uniform_loss - uniform_bt.detach().flatten()), off)


def test_nearly_certain_targets_are_read_at_the_price_of_rounding():
    model, ids = models.llama().double(), random_ids(1, 8)
    model.lm_head.weight.data.mul_(400)
    head, hidden, logits = run(model, ids)
    targets = logits.argmax(-1)
    loss_bt = -torch.log_softmax(logits, -1).gather(-1, targets[..., None])[..., 0]

    found = read(head, hidden, by_autograd(hidden, loss_bt) / 7, targets)

    assert float(loss_bt.detach().min()) < 1e-4
    assert float(found.amplification.max()) > 1e4
    off = 1e-13 * found.amplification if logits.dtype == torch.float64 else slack(logits, found)
    np.testing.assert_array_less((7 * found.weight - 1).abs(), off)


def test_the_amplification_of_a_linear_head_is_its_largest_row_over_the_unit_gradient():
    model, ids = models.biased().double(), random_ids(1, 6)
    head, hidden, logits = run(model, ids)
    unit_nh = by_autograd(hidden, -torch.log_softmax(logits, -1).gather(-1, ids[..., None])[..., 0])

    found = read(head, hidden, unit_nh, ids)

    largest = model.lm_head.weight.detach().norm(dim=-1).max()
    np.testing.assert_allclose(found.amplification, largest / unit_nh.norm(dim=-1), rtol=slack(logits, found).max())


def test_the_amplification_of_any_other_head_comes_from_the_targets_seen():
    model, ids = models.soft_capped().double(), random_ids(1, 6)
    head, hidden, logits = run(model, ids)
    unit_nh = by_autograd(hidden, -torch.log_softmax(logits, -1).gather(-1, ids[..., None])[..., 0])
    column_nh = by_autograd(hidden, logits.gather(-1, ids[..., None])[..., 0])

    found = read(head, hidden, unit_nh, ids, budget=0)

    largest = column_nh.norm(dim=-1).max()
    np.testing.assert_allclose(found.amplification, largest / unit_nh.norm(dim=-1), rtol=1e-9)


def test_half_precision_is_read_in_single_precision():
    head = models.seeded(lambda: torch.nn.Linear(16, VOCABULARY, bias=False)).bfloat16()
    hidden_nh = models.seeded(lambda: torch.randn(5, 16)).bfloat16()
    target_n = random_ids(1, 5)[0]
    wide_nh = hidden_nh.double().requires_grad_(True)
    logits_nv = wide_nh @ head.weight.detach().double().T
    unit_nh = torch.autograd.grad(torch.nn.functional.cross_entropy(logits_nv, target_n, reduction="sum"), wide_nh)[0]

    with torch.no_grad():
        found = read_live(LinearHead(head), hidden_nh, unit_nh, target_n)

    np.testing.assert_allclose(found.weight, [1.0] * 5, rtol=1e-5)


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("llama", (LinearHead, True)),
        ("tied embeddings", (LinearHead, True)),
        ("bias in the head", (LinearHead, True)),
        ("soft-cap", (ReplayedHead, True)),
        ("logit scale", (ReplayedHead, True)),
        ("logits scaling", (ReplayedHead, True)),
        ("bias behind the head", (ReplayedHead, False)),
        ("LoRA", (LinearHead, True)),
        ("LoRA on the head", (ReplayedHead, False)),
    ],
)
def test_a_head_is_cut_into_slices_only_when_nothing_behind_it_minds(kind, expected):
    head, _, _ = run(MODELS[kind](), random_ids(1, 4))

    assert expected == (type(head), head.slices)


def test_a_soft_cap_that_small_logits_do_not_feel_is_found():
    model = models.soft_capped()
    model.config.final_logit_softcapping = 100.0

    head, _, _ = run(model, random_ids(1, 4))

    assert isinstance(head, ReplayedHead)


def test_a_named_linear_is_not_differentiated_by_autograd():
    model = models.written()

    def recognised(head):
        return type(locate(model, "norm", head).recognise(torch.ones(1, 2, 16)))

    assert [LinearHead, LinearHead, ReplayedHead] == [
        recognised(head) for head in ("out", model.out, lambda h: model.out(h))
    ]
