"""Reading in chunks gives the same, and holds less than two chunks; nor is a product as large as a head ever held."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from instrument.closure import inner
from instrument.live import ReplayedHead, read_live
from instrument.locate import locate
from tests.instrument import models
from tests.instrument.heads import by_autograd, random_ids, read, run
from tests.instrument.live_bytes import LiveBytes


@pytest.mark.parametrize("kind", ["llama", "soft-cap", "a function"])
@pytest.mark.parametrize("budget", [0, 2048, 50_000])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_chunks_of_any_size_give_the_same(kind, budget, dtype):
    model = models.soft_capped(vocab_size=3000) if kind == "soft-cap" else models.llama(vocab_size=3000)
    ids = random_ids(3, 9, vocabulary=3000)
    head, hidden, logits = run(model.to(dtype), ids)
    other_head, _, _ = run(model, ids)
    if kind == "a function":
        head, other_head = (ReplayedHead(model.lm_head, 3000, None) for _ in range(2))
    log_p_btv = torch.log_softmax(logits, -1)
    loss_bt = -0.9 * log_p_btv.gather(-1, ids[..., None])[..., 0] - 0.1 * log_p_btv.mean(-1)
    gradient_nh = by_autograd(hidden, loss_bt)

    whole = read(head, hidden, gradient_nh, ids, budget=2**30)
    chunked = read(other_head, hidden, gradient_nh, ids, budget=budget)

    np.testing.assert_allclose(chunked.weight, whole.weight, rtol=1e-6)
    if dtype == torch.float64:
        for one, other in zip(whole, chunked):
            np.testing.assert_allclose(other, one, rtol=1e-9, atol=1e-9)


@given(positions=st.integers(1, 400), vocabulary=st.integers(2, 5000), budget=st.integers(0, 2**20))
def test_a_budget_is_kept_unless_it_is_too_small_for_one_slice(positions, vocabulary, budget):
    from instrument.live import chunk

    step, width = chunk(positions, vocabulary, budget)

    assert step >= 1
    assert 1 <= width <= vocabulary
    assert step * width <= max(budget, 1024)


def random_gradient(hidden_nh):
    """Explained by no target, so that label smoothing is looked for too."""
    return torch.randn(hidden_nh.shape, generator=torch.Generator().manual_seed(1))


@pytest.mark.parametrize(
    ("kind", "tokens"), [("llama", 512), ("soft-cap", 160), ("LoRA on the head", 160), ("bias in the head", 160)]
)
def test_reading_holds_less_than_two_chunks(kind, tokens):
    from tests.instrument.live_bytes import LiveBytes

    make = {
        "llama": lambda: models.llama(vocab_size=32_000),
        "soft-cap": lambda: models.soft_capped(vocab_size=32_000),
        "LoRA on the head": lambda: models.with_lora(
            target="lm_head", base=lambda seed: models.llama(seed, vocab_size=32_000)
        ),
        "bias in the head": lambda: models.biased(vocab_size=32_000),
    }
    model, ids = make[kind](), random_ids(1, tokens, vocabulary=32_000)
    place = locate(model)
    with torch.no_grad():
        output = place.read_point(input_ids=ids)
        head = place.recognise(output)
    hidden_nh = output.last_hidden_state[0]
    gradient_nh = random_gradient(hidden_nh)

    with torch.no_grad(), LiveBytes() as held:
        read_live(head, hidden_nh, gradient_nh, ids[0], budget=2**20)

    assert 2**20 * 4 / 4 < held.peak < 2 * 2**20 * 4


def test_finding_the_head_holds_less_than_two_chunks():
    from tests.instrument.live_bytes import LiveBytes

    model = models.soft_capped(vocab_size=32_000)
    place = locate(model)
    with torch.no_grad():
        output = place.read_point(input_ids=random_ids(1, 512))
        with LiveBytes() as held:
            place.recognise(output)

    assert held.peak < 2 * 2**20 * 4


def test_the_product_of_two_heads_takes_no_room_of_their_size():
    one, other = torch.randn(2, 16384, 256, generator=torch.Generator().manual_seed(0))

    with LiveBytes() as alive:
        found = inner(one, other)

    # 16 MiB each; a part of it is 4.
    assert alive.peak < 10 * 2**20
    torch.testing.assert_close(found, (one.double() * other.double()).sum(), rtol=1e-4, atol=0)
