"""The weight of each token at the final hidden state: equal to full autograd for every head and state of a model."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from instrument import make_batch, watch
from instrument.live import LinearHead, ReplayedHead, read_live
from instrument.locate import locate
from instrument.loops.trainer import run_trainer
from tests.instrument import models
from tests.instrument.models import MODELS, VOCABULARY

every_head = pytest.mark.parametrize("kind", MODELS)


def random_ids(rows, tokens, seed=0, vocabulary=VOCABULARY):
    """Ids that repeat, as in real text."""
    return torch.randint(3, vocabulary, (rows, tokens), generator=torch.Generator().manual_seed(seed))


def run(model, ids):
    """The head as the instrument finds it, and what one ordinary run of the model gives.

    Returns:
        The head, hidden states [b, t, h] with their graph, logits [b, t, v].
    """
    place, seen = locate(model), []

    def note(module, args, output):
        # With a frozen body nothing asks for this gradient.
        seen.append(output)
        output[0].requires_grad_(True)

    handle = place.read_point.register_forward_hook(note)
    logits = model(input_ids=ids, attention_mask=torch.ones_like(ids)).logits
    handle.remove()
    with torch.no_grad():
        return place.recognise(seen[0]), seen[0][0], logits


def by_autograd(hidden, loss_bt):
    """[n, h] gradient of each position's loss at its hidden state: the head looks at one position only."""
    return torch.autograd.grad(loss_bt.sum(), hidden, retain_graph=True)[0].flatten(0, 1)


def read(head, hidden, gradient_nh, ids, **options):
    """read_live on whole rows."""
    with torch.no_grad():
        return read_live(head, hidden.detach().flatten(0, 1), gradient_nh, ids.flatten(), **options)


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
    np.testing.assert_allclose(found.weight, [1.0] * 14, rtol=1e-9)
    np.testing.assert_array_less(found.remainder, 1e-9)
    np.testing.assert_allclose(found.cosine, [1.0] * 14, rtol=1e-12)
    np.testing.assert_allclose(found.loss, loss_bt.detach().flatten(), rtol=1e-9, atol=1e-12)
    assert not found.uniform.any()


@every_head
def test_label_smoothing_is_split_off_with_any_head(kind):
    model, ids = MODELS[kind]().double(), random_ids(2, 5)
    head, hidden, logits = run(model, ids)
    log_p_btv = torch.log_softmax(logits, -1)
    loss_bt, uniform_bt = -log_p_btv.gather(-1, ids[..., None])[..., 0], -log_p_btv.mean(-1)

    found = read(head, hidden, by_autograd(hidden, 0.9 * loss_bt + 0.1 * uniform_bt), ids)

    np.testing.assert_allclose(found.weight, [0.9] * 10, rtol=1e-9)
    np.testing.assert_allclose(found.uniform, [0.1] * 10, rtol=1e-9)
    np.testing.assert_allclose(found.uniform_loss, uniform_bt.detach().flatten(), rtol=1e-9)


def test_nearly_certain_targets_are_read_at_the_price_of_rounding():
    model, ids = models.llama().double(), random_ids(1, 8)
    model.lm_head.weight.data.mul_(400)
    head, hidden, logits = run(model, ids)
    targets = logits.argmax(-1)
    loss_bt = -torch.log_softmax(logits, -1).gather(-1, targets[..., None])[..., 0]

    found = read(head, hidden, by_autograd(hidden, loss_bt) / 7, targets)

    assert float(loss_bt.detach().min()) < 1e-4
    assert float(found.amplification.max()) > 1e4
    np.testing.assert_array_less((7 * found.weight - 1).abs(), 1e-13 * found.amplification)


def test_the_amplification_of_a_linear_head_is_its_largest_row_over_the_unit_gradient():
    model, ids = models.biased().double(), random_ids(1, 6)
    head, hidden, logits = run(model, ids)
    unit_nh = by_autograd(hidden, -torch.log_softmax(logits, -1).gather(-1, ids[..., None])[..., 0])

    found = read(head, hidden, unit_nh, ids)

    largest = model.lm_head.weight.detach().norm(dim=-1).max()
    np.testing.assert_allclose(found.amplification, largest / unit_nh.norm(dim=-1), rtol=1e-9)


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


def random_gradient(hidden_nh):
    """Explained by no target, so that label smoothing is looked for too."""
    return torch.randn(hidden_nh.shape, generator=torch.Generator().manual_seed(1))


def test_finding_the_head_holds_less_than_two_chunks():
    from tests.instrument.live_bytes import LiveBytes

    model = models.soft_capped(vocab_size=32_000)
    place = locate(model)
    with torch.no_grad():
        output = place.read_point(input_ids=random_ids(1, 512))
        with LiveBytes() as held:
            place.recognise(output)

    assert held.peak < 2 * 2**20 * 4


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


@every_head
def test_a_trained_window_of_any_model_is_a_token_mean(kind):
    model, rows = MODELS[kind](), random_ids(2, 6).tolist()
    batch = make_batch([rows[0], rows[1][:4]])

    with watch(model) as report:
        model(**batch).loss.backward()

    report.assert_token_mean(tol=2e-6)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_the_floor_through_the_real_trainer(dtype):
    model = models.llama().to(dtype)
    for parameter in model.parameters():
        parameter.data.mul_(5)
    rows = [row[:n] for row, n in zip(random_ids(8, 12).tolist(), (5, 9, 3, 12, 7, 4, 10, 6))]

    with watch(model) as report:
        run_trainer(model, rows, micro_batch=2, accumulation=4)

    report.assert_token_mean(tol={torch.float32: 2e-6, torch.float64: 3e-7}[dtype])


def test_a_bfloat16_model_with_padding_is_read():
    model = models.llama().bfloat16()

    with watch(model) as report:
        model(**make_batch([*random_ids(1, 6).tolist(), [5, 6, 7]])).loss.backward()

    assert ("bfloat16", "bfloat16") == (report.record.work_dtype, report.record.loss_dtype)
    report.assert_token_mean(tol=0.05)


def test_the_dtype_is_that_of_the_gradient_and_not_of_an_adapter():
    model = models.with_lora(base=lambda seed: models.llama(seed).bfloat16())

    with watch(model) as report:
        model(**make_batch(random_ids(2, 6).tolist())).loss.backward()

    assert {torch.float32} == {p.dtype for p in model.parameters() if p.requires_grad}
    assert "bfloat16" == report.record.work_dtype


def written_window(model, ids):
    """One window of a hand-written model, whose loss is made outside of it."""
    logits = model(ids)
    torch.nn.functional.cross_entropy(logits[:, :-1].flatten(0, 1), ids[:, 1:].flatten()).backward()


@pytest.mark.parametrize("read_point", ["name", "module"])
@pytest.mark.parametrize("head", ["name", "module", "function", "function that ends in a saved tensor"])
def test_a_written_model_is_read_at_a_named_place(read_point, head):
    model, ids = models.written(), random_ids(3, 6)
    heads = {
        "name": "out",
        "module": model.out,
        "function": lambda hidden: model.out(hidden),
        "function that ends in a saved tensor": lambda hidden: model.out(hidden).exp().log(),
    }

    with watch(model, read_point={"name": "norm", "module": model.norm}[read_point], head=heads[head]) as report:
        written_window(model, ids)

    report.assert_token_mean(tol=2e-6)
    assert 3 * 5 == report.windows[0].targets()


def test_a_named_linear_is_not_differentiated_by_autograd():
    model = models.written()

    def recognised(head):
        return type(locate(model, "norm", head).recognise(torch.ones(1, 2, 16)))

    assert [LinearHead, LinearHead, ReplayedHead] == [
        recognised(head) for head in ("out", model.out, lambda h: model.out(h))
    ]


def test_a_written_head_that_squashes_is_read():
    model, ids = models.written(), random_ids(2, 6)
    squash = model.out.forward
    model.out.forward = lambda hidden: torch.tanh(squash(hidden))

    with watch(model, read_point="norm", head=lambda hidden: torch.tanh(squash(hidden))) as report:
        written_window(model, ids)

    report.assert_token_mean(tol=2e-6)


def test_the_wrong_head_shows_as_an_unexplained_gradient():
    model, ids = models.written(), random_ids(2, 6)

    with watch(model, read_point="norm", head=lambda hidden: torch.tanh(model.out(hidden))) as report:
        written_window(model, ids)

    assert not report.ok


def test_a_last_token_without_a_next_one_has_no_target():
    model, ids = models.written(), random_ids(2, 6)

    with watch(model, read_point="norm", head="out") as report:
        torch.nn.functional.cross_entropy(model(ids).flatten(0, 1), ids.flatten()).backward()

    assert [[True] * 5 + [False]] * 2 == [row.scored.tolist() for row in report.rows]
    assert any("2 tokens that should not be scored have a gradient" in fault for fault in report.verdicts[0].faults)


def test_a_gradient_where_no_label_was_is_read_too():
    model, batch = models.llama(), make_batch(random_ids(2, 6).tolist())
    targets = batch["labels"][:, 1:].flatten().clone()
    batch["labels"][0, :4] = -100

    with watch(model) as report:
        # Divided by the seven that are labelled, but all ten are in it.
        logits = model(**batch).logits[:, :-1].flatten(0, 1)
        (torch.nn.functional.cross_entropy(logits, targets, reduction="sum") / 7).backward()

    assert ("3 tokens that should not be scored have a gradient",) == report.verdicts[0].faults
    np.testing.assert_allclose(report.rows[0].weight, [1 / 7] * 5, rtol=1e-5)


@pytest.mark.parametrize("own", [False, True])
def test_the_models_own_forwards_are_put_back(own):
    model = models.soft_capped()
    touched = (model.model, model.lm_head)
    if own:
        for module in touched:
            module.forward = module.forward
    before = [module.__dict__.get("forward") for module in touched]

    with watch(model):
        model(**make_batch(random_ids(2, 6).tolist())).loss.backward()

    assert before == [module.__dict__.get("forward") for module in touched]


def test_reading_a_report_runs_no_softmax_again(monkeypatch):
    model, runs = models.llama(), []
    counted = LinearHead.slice
    monkeypatch.setattr(LinearHead, "slice", lambda *args: runs.append(1) or counted(*args))

    with watch(model) as report:
        for rows in random_ids(4, 6).tolist():
            model(**make_batch([rows])).loss.backward()
    read_once = len(runs)
    report.assert_pure_rescaling()
    str(report), report.to_json(), report.verdicts

    assert read_once == len(runs) == 4


def test_a_micro_batch_without_targets_weighs_nothing():
    model, batches = models.llama(), [make_batch([row]) for row in random_ids(2, 5).tolist()]
    batches[1]["labels"].fill_(-100)

    with watch(model) as report:
        for batch in batches:
            model(**batch, num_items_in_batch=4).loss.backward()

    report.assert_token_mean()
    assert [[4], [0]] == report.windows[0].counts()
