"""The search finds every coupling, however it comes about, and nothing where there is none."""

import math

import numpy as np
import pytest
import torch
from torch import nn

from closed_forms import leaks
from instrument.leak import find_leaks, leak_matrix
from instrument.leak_probe import build_leak_probe
from instrument.leak_search import separating_groups
from instrument.probe import make_batch, tracer_rows
from tests.instrument.leak_models import Normalised, ReadsRowBefore, Tagger, WithLoss, padded_batch

LENGTHS = [5, 3, 6, 4]


@pytest.fixture
def flat():
    """A flattened batch of four documents."""
    from transformers import DataCollatorWithFlattening

    return DataCollatorWithFlattening()([{"input_ids": row} for row in tracer_rows(LENGTHS)])


@pytest.fixture
def llama():
    return build_leak_probe(3 + sum(LENGTHS))


@pytest.mark.parametrize("n", [2, 3, 4, 5, 7, 8, 9, 20, 21, 64, 127, 128, 129, 1000, 1024])
def test_groups_put_every_ordered_pair_to_the_test(n):
    groups = separating_groups(n)
    inside = np.zeros((len(groups), n), dtype=int)
    for number, group in enumerate(groups):
        inside[number, group] = 1

    assert len(groups) <= 2 * math.ceil(math.log2(n))
    tested = inside.T @ (1 - inside)
    assert (tested[~np.eye(n, dtype=bool)] > 0).all()


@pytest.mark.parametrize(("n", "passes"), [(2, 2), (3, 3), (8, 5), (128, 10), (1024, 13)])
def test_number_of_groups(n, passes):
    assert len(separating_groups(n)) == passes


def test_a_clean_batch_is_false_and_takes_the_groups_and_one_more(llama, flat):
    found = find_leaks(llama, {**flat, "use_cache": False})

    assert not found
    assert (found.passes, found.more_passes) == (4, 1)
    np.testing.assert_array_equal(found.pattern(), leaks.separate(LENGTHS))


def test_the_default_cache_lets_each_document_read_those_before_it(llama, flat):
    found = find_leaks(llama, flat)

    assert found
    np.testing.assert_array_equal(found.pattern(), leaks.lower_triangular(LENGTHS))
    assert found.boundaries() == list(found.sequences[1:])


def test_a_leak_is_measured_of_its_sequence_alone(llama, flat):
    (last,) = [pair for pair in find_leaks(llama, flat).pairs if (pair.target, pair.source) == (3, 1)]
    labels = torch.where(torch.arange(sum(LENGTHS)) >= 14, flat["labels"], -100)
    embedded = llama.get_input_embeddings()(flat["input_ids"]).detach().requires_grad_(True)
    loss = llama(inputs_embeds=embedded, position_ids=flat["position_ids"], labels=labels).loss
    (gradient,) = torch.autograd.grad(loss, embedded)

    largest = gradient[0, 5:8].abs().amax(-1)
    assert last.gradient == pytest.approx(float(largest.max()), rel=1e-12)
    assert last.position == 5 + int(largest.argmax())


@pytest.mark.parametrize("edge", [(20, 19), (31, 0), (0, 31), (16, 3)])
def test_one_leaking_pair_is_located_in_few_passes(edge):
    sizes = [3] * 32
    document = torch.arange(32).repeat_interleave(3)
    mask = (document[:, None] == document) & torch.ones(96, 96).tril().bool()
    mask |= (document == edge[0])[:, None] & (document == edge[1])
    from transformers import DataCollatorWithFlattening

    flat = DataCollatorWithFlattening()([{"input_ids": row} for row in tracer_rows(sizes)])

    found = find_leaks(build_leak_probe(99), {**flat, "attention_mask": mask[None, None]})
    assert [(pair.target, pair.source) for pair in found.pairs] == [edge]
    assert found.passes == 7
    # Two halves at each of 5 levels, and the guilty one alone.
    assert found.more_passes <= 11


@pytest.mark.parametrize("frozen", [False, True])
def test_frozen_embeddings_are_read_too(llama, flat, frozen):
    for parameter in llama.parameters():
        parameter.requires_grad_(not frozen)

    assert len(find_leaks(llama, flat).pairs) == 6


def test_embedded_inputs_are_read_too(llama, flat):
    embedded = llama.get_input_embeddings()(flat.pop("input_ids")).detach()

    found = find_leaks(llama, {**flat, "inputs_embeds": embedded})
    np.testing.assert_array_equal(found.pattern(), leaks.lower_triangular(LENGTHS))


def test_a_matrix_takes_one_pass_for_each_sequence_with_targets(llama, flat):
    labels = flat["labels"].clone()
    labels[0, 5:8] = -100

    matrix = leak_matrix(llama, {**flat, "labels": labels})
    assert (matrix[1] == 0).all()
    np.testing.assert_array_equal(matrix[[0, 2, 3]] > 0, leaks.lower_triangular(LENGTHS)[[0, 2, 3]])


@pytest.mark.parametrize("model", [Tagger, WithLoss])
def test_a_model_by_hand_without_coupling_is_clean(model):
    assert not find_leaks(model(), padded_batch())


def test_a_state_that_is_carried_from_row_to_row_is_found():
    found = find_leaks(ReadsRowBefore(), padded_batch())

    np.testing.assert_array_equal(found.pattern(), leaks.neighbour([5] * 4))
    assert found.boundaries() == []


def test_batch_statistics_couple_every_row_in_training():
    np.testing.assert_array_equal(find_leaks(Normalised().train(), padded_batch()).pattern(), leaks.everything([5] * 4))


def test_batch_statistics_couple_nothing_in_evaluation():
    assert not find_leaks(Normalised().eval(), padded_batch())


def test_a_scan_without_boundaries_reads_all_documents_before(flat):
    found = find_leaks(build_leak_probe(3 + sum(LENGTHS), "mamba", state_size=4), flat)

    np.testing.assert_array_equal(found.pattern(), leaks.lower_triangular(LENGTHS))


def test_the_balance_of_experts_couples_all_and_is_named():
    rows = tracer_rows([5, 4, 6])
    sizes = {"num_local_experts": 4, "dtype": torch.float32}
    model = build_leak_probe(18, "mixtral", router_aux_loss_coef=0.1, **sizes)
    batch = make_batch(rows)

    assert not find_leaks(model, batch)
    found = find_leaks(model, {**batch, "output_router_logits": True})
    np.testing.assert_array_equal(found.pattern(), leaks.everything([5, 4, 6]))
    assert "aux_loss over all tokens, which couples them by design" in str(found)


def test_another_loss_can_be_given(llama, flat):
    def loss(model, batch):
        labels = batch.pop("labels")
        logits = model(**batch, use_cache=False).logits[0, :-1]
        return (nn.functional.cross_entropy(logits, labels[0, 1:], reduction="sum")) ** 2

    assert not find_leaks(llama, flat, loss=loss)


@pytest.mark.parametrize(("target", "later"), [(1, 1), (1, 4), (2, 3), (3, 3), (4, 4)])
def test_any_target_that_depends_on_a_later_input_is_found(target, later):
    class Peeks(Tagger):
        def forward(self, input_ids):
            hidden = self.lookup(input_ids)
            seen = torch.cumsum(hidden, 1)
            # Logits of position t - 1 score the target t.
            extra = torch.zeros_like(seen)
            extra[1, target - 1] = 1
            return self.head(torch.tanh(seen + extra * hidden[1, later]))

    found = find_leaks(Peeks(), padded_batch(), every_position=True)
    assert not found.pairs
    (ahead,) = found.ahead
    assert ahead.sequence == 1
    assert target <= ahead.target <= ahead.position == later


def test_attention_to_all_is_found_without_a_pass_for_each_position():
    ids = torch.tensor(tracer_rows([5, 5, 5]))
    mask = torch.ones(3, 1, 5, 5, dtype=torch.bool)

    found = find_leaks(build_leak_probe(18), {"input_ids": ids, "labels": ids, "attention_mask": mask})
    assert not found.pairs
    assert [ahead.sequence for ahead in found.ahead] == [0, 1, 2]
    assert {(ahead.target, ahead.position) for ahead in found.ahead} == {(4, 4)}


def test_a_leak_from_behind_is_not_mistaken_for_broken_causality(llama, flat):
    found = find_leaks(llama, flat, every_position=True)

    assert found.pairs
    assert not found.ahead


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float32, torch.float64])
def test_every_precision_gives_exact_zeros(flat, dtype):
    model = build_leak_probe(3 + sum(LENGTHS), dtype=dtype)

    assert not find_leaks(model, {**flat, "use_cache": False})
    assert len(find_leaks(model, flat).pairs) == 6
