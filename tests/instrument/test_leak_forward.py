"""What gradient does not follow moves a loss when tokens change; a right model's losses stay the same bit for bit."""

import pytest
import torch
from torch import nn

from closed_forms import leaks
from instrument.leak import find_leaks
from instrument.leak_forward import Moved, halves, redrawn, roundoff, special_ids
from instrument.leak_passes import Passes
from instrument.leak_probe import build_leak_probe
from instrument.leak_search import Search
from instrument.leak_watch import watch_leaks
from instrument.probe import make_batch, tracer_rows
from tests.instrument.leak_models import (
    ChoosesTokens,
    ReadsBoth,
    ReadsDetached,
    ReadsIds,
    ReadsRowBefore,
    Tagger,
    WithLoss,
    padded_batch,
)


@pytest.mark.parametrize("model", [ReadsDetached, ReadsIds, ChoosesTokens])
def test_what_gradient_does_not_follow_is_found(model):
    assert not find_leaks(model(), padded_batch())
    assert find_leaks(model(), padded_batch(), forward=True)


def test_tokens_are_changed_where_labels_are_the_same_tensor_and_come_first():
    ids = padded_batch()["input_ids"]

    assert find_leaks(ReadsIds(), {"labels": ids, "input_ids": ids}, forward=True)


@pytest.mark.parametrize("model", [ReadsDetached, ReadsIds])
@pytest.mark.parametrize("rows", [2, 3, 4, 7, 8])
def test_who_is_named_reads_who_is_named(model, rows):
    found = find_leaks(model(), padded_batch(rows=rows), forward=True)

    assert found.changes.found
    assert (found.pattern() <= leaks.neighbour([5] * rows)).all()
    for change in found.changes.found:
        assert change.sources == (change.target - 1,)


def test_the_move_is_that_of_the_one_sequence():
    model, batch = ReadsDetached(), padded_batch(rows=2)
    (change,) = find_leaks(model, batch, forward=True).changes.found

    def loss(ids):
        return nn.functional.cross_entropy(model(ids)[1, :-1], batch["labels"][1, 1:]).item()

    # Two sequences make two groups, and sequence 1 is the second of them.
    other = batch["input_ids"].clone()
    other[0] = redrawn(other, other >= 0, set(), 1)[0]
    assert change.loss == pytest.approx(loss(batch["input_ids"]), rel=1e-6)
    assert change.size == pytest.approx(abs(loss(other) - change.loss), rel=1e-4)


def test_sources_that_move_a_loss_together_only_are_named_together():
    found = find_leaks(ReadsBoth(), padded_batch(), forward=True)
    (change,) = found.changes.found

    assert (change.target, change.sources) == (0, (1, 2))
    assert found.pattern()[0].tolist() == [True, True, True, False]
    assert str(found).endswith("with the tokens of 1 (row 1, tokens 0-4), 2 (row 2, tokens 0-4)")


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float32, torch.float64])
@pytest.mark.parametrize("kind", ["llama", "mamba", "mixtral"])
def test_a_right_model_is_the_same_bit_for_bit(kind, dtype):
    config = {"mamba": {"state_size": 4}, "mixtral": {"num_local_experts": 4, "experts_implementation": "eager"}}
    model = build_leak_probe(26, kind, dtype=dtype, **config.get(kind, {}))

    found = find_leaks(model, make_batch(tracer_rows([5, 4, 6, 7])), forward=True)
    assert not found
    assert found.changes.passes == found.passes == 4


def test_a_pack_is_the_same_bit_for_bit():
    from transformers import DataCollatorWithFlattening

    flat = DataCollatorWithFlattening()([{"input_ids": row} for row in tracer_rows([5, 4, 6, 7])])

    found = find_leaks(build_leak_probe(26), {**flat, "use_cache": False}, forward=True)
    assert str(found).endswith("  4 forward passes with the others' tokens changed, every loss the same bit for bit")


def test_where_gradient_shows_a_leak_no_token_is_changed():
    assert find_leaks(ReadsRowBefore(), padded_batch(), forward=True).changes is None


def test_no_token_is_changed_unasked():
    assert find_leaks(ReadsIds(), padded_batch()).changes is None


class RoundsOtherwise(Tagger):
    """Logits of each row differ by a share that goes by a token of the last one, as where products change shape."""

    def __init__(self, *shares):
        super().__init__()
        self.double()
        self.shares = torch.tensor(shares, dtype=torch.float64)[:, None, None]

    def forward(self, input_ids):
        other = input_ids[-1, 0] != (len(input_ids) - 1) * input_ids.shape[1]
        return super().forward(input_ids) * (1 + self.shares * other)


@pytest.mark.parametrize("share", [1e-5, 1e-13])
def test_what_may_be_rounding_or_a_small_leak_is_refused(share):
    with pytest.raises(
        ValueError, match=r"loss of sequence 0 moves by .* sequences \[3\] are changed, which may be a small"
    ):
        find_leaks(RoundsOtherwise(share, 0, 0, 0), padded_batch(), forward=True)


class ReadsStatistic(Tagger):
    """All logits grow with a statistic of the ids of the whole batch."""

    def __init__(self, statistic):
        super().__init__()
        self.statistic = statistic

    def forward(self, input_ids):
        return super().forward(input_ids) * (1 + 0.1 * self.statistic(input_ids))


@pytest.mark.parametrize(
    "statistic",
    [
        lambda ids: ids.max(),
        lambda ids: ids.min(),
        lambda ids: ids.unique().numel(),
        lambda ids: (ids[:, 1:] == ids[:, :-1]).sum(),
        lambda ids: ids.sum() % 5,
        lambda ids: (ids[0] == ids[1]).sum(),
    ],
)
@pytest.mark.parametrize("seed", range(5))
def test_a_statistic_of_all_ids_is_found(statistic, seed):
    ids = torch.randperm(24, generator=torch.Generator().manual_seed(seed)).reshape(4, 6)
    ids[:, 3], ids[1, 0] = ids[:, 2], ids[0, 0]

    assert find_leaks(ReadsStatistic(statistic), {"input_ids": ids, "labels": ids}, forward=True)


@pytest.mark.parametrize("shares", [(0.1, 0, 0, 0), (0, 0.1, 0, 0), (1e-5, 0, 0.1, 0)])
def test_what_rounding_cannot_explain_is_a_leak(shares):
    found = find_leaks(RoundsOtherwise(*shares), padded_batch(), forward=True)

    assert [(change.target, change.sources) for change in found.changes.found] == [(shares.index(0.1), (3,))]


def test_in_a_coarser_arithmetic_no_move_is_judged():
    with pytest.raises(ValueError, match=r"loss of sequence 0 moves .* rounds by 3.9e-03: .* in float32 or float64"):
        find_leaks(RoundsOtherwise(2.0, 0, 0, 0).bfloat16(), padded_batch(), forward=True)


def test_halves_are_compared_by_what_they_move_in_all():
    """The mean over many targets moves less than that over few, though more of the loss is moved."""
    batch = padded_batch(rows=5, length=8)
    few_bt = torch.arange(8)[None] < torch.tensor([8, 8, 2, 2, 8])[:, None]
    batch["labels"] = torch.where(few_bt, batch["labels"], -100)

    with Passes(RoundsOtherwise(0.03, 0, 0.02, 0, 0), batch) as passes:
        change = Moved(Search(passes, None), 0).locate([0, 1, 2, 3], [4])
    assert change.target == 0


def test_the_text_names_who_reads_whom():
    found = find_leaks(ReadsDetached(), padded_batch(rows=2), forward=True)
    head, line = str(found).splitlines()

    assert head == "LEAK that gradient does not show: changed tokens move the loss of another sequence"
    assert line.startswith("  the loss of sequence 1 (row 1, tokens 0-4), ")
    assert line.endswith(" with the tokens of 0 (row 0, tokens 0-4)")


def test_a_watch_changes_tokens_too():
    class Detached(WithLoss):
        def __init__(self):
            super().__init__(ReadsDetached().couple)

    model = Detached()
    with watch_leaks(model, forward=True) as found:
        model(**padded_batch())[0].backward()

    assert found[0].changes.found


def test_embedded_inputs_are_refused():
    model = build_leak_probe(41)
    embedded = model.get_input_embeddings()(padded_batch()["input_ids"]).detach()

    with pytest.raises(ValueError, match="forward=True changes token ids: give input_ids"):
        find_leaks(model, {"inputs_embeds": embedded, "labels": padded_batch()["labels"]}, forward=True)


def test_a_single_id_cannot_be_changed():
    ids = torch.full((2, 4), 7)

    with pytest.raises(ValueError, match="hold 1 different ids besides the special ones"):
        find_leaks(Tagger(), {"input_ids": ids, "labels": ids}, forward=True)


@pytest.mark.parametrize("number", range(6))
def test_every_ordinary_id_is_changed_and_none_outside(number):
    ids = torch.tensor([[5, 8, 5, 9], [1, 0, 12, 30]])
    other = redrawn(ids, ids < 20, {0, 1}, number)
    ordinary = torch.tensor([[True] * 4, [False, False, True, False]])

    assert ((other != ids) == ordinary).all()
    assert set(other[ordinary].tolist()) < {5, 8, 9, 12}


def test_each_pass_draws_other_tokens_and_each_the_same_again():
    ids = torch.arange(5)[None]
    seen = [[tuple(redrawn(ids, ids >= 0, set(), number)[0].tolist()) for number in range(4)] for _ in range(2)]

    assert seen[0] == seen[1]
    assert len(set(seen[0])) == 4


def test_equal_tokens_may_differ_and_the_largest_may_vanish():
    ids = torch.tensor([[3, 3, 3, 3, 4, 5, 6, 9]])
    drawn = [redrawn(ids, ids >= 0, set(), number)[0] for number in range(6)]

    assert any(len(set(other[:4].tolist())) > 1 for other in drawn)
    assert any(other.max() < 9 for other in drawn)


def test_special_ids_come_from_the_config():
    model = build_leak_probe(20, eos_token_id=[2, 4])
    model.config.image_token_index = 9

    assert special_ids(model) == {0, 1, 2, 4, 9}
    assert special_ids(Tagger()) == set()


def test_roundoff_is_that_of_the_coarsest_arithmetic():
    mixed = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2).double())

    assert roundoff(mixed) == 2**-24
    with torch.autocast("cpu", torch.bfloat16):
        assert roundoff(mixed) == 2**-8
    assert roundoff(nn.Linear(2, 2).double()) == 2**-53
    assert roundoff(nn.Identity()) == 0


def test_halves_are_all():
    assert halves([4, 6, 9]) == ([4], [6, 9])
