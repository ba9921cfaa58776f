"""Whatever a head does, and in however many slices of its vocabulary it is read, each target's weight is the loss's."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from instrument import make_batch, watch
from tests.instrument import heads, models
from tests.properties.strategies import few

# Beyond 1024 ids a vocabulary is read in slices where the budget is small.
CUT = {
    "linear": lambda seed, v: models.llama(seed, vocab_size=v),
    "bias": models.biased,
    "soft-cap": lambda seed, v: models.soft_capped(seed, vocab_size=v),
}
WHOLE = {
    "divided": models.logits_divided,
    "scaled": models.logit_scaled,
    "bias behind": models.bias_behind,
    "LoRA": models.lora_on_head,
}
seeds = st.integers(0, 2**16)


def assert_read(model, ids, seed, budget):
    """What is read of a loss that weighs its targets by drawn numbers are these numbers."""
    head, hidden, logits = heads.run(model.double(), ids)
    weight_bt = torch.rand(ids.shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64) + 0.1
    losses_bt = torch.nn.functional.cross_entropy(logits.transpose(1, 2), ids, reduction="none")

    found = heads.read(head, hidden, heads.by_autograd(hidden, losses_bt * weight_bt), ids, budget=budget)

    np.testing.assert_allclose(found.weight, weight_bt.flatten(), rtol=1e-7)
    np.testing.assert_allclose(found.loss, losses_bt.detach().flatten(), rtol=1e-7)


@pytest.mark.parametrize("kind", CUT)
@few
@given(vocabulary=st.integers(1025, 2100), budget=st.sampled_from([1, 2**12]), tokens=st.integers(2, 5), seed=seeds)
def test_a_vocabulary_in_slices_reads_as_a_whole_one(kind, vocabulary, budget, tokens, seed):
    ids = heads.random_ids(2, tokens, seed, vocabulary)

    for elements in (budget, 2**24):
        assert_read(CUT[kind](seed, vocabulary), ids, seed, elements)


@pytest.mark.parametrize("kind", WHOLE)
@few
@given(tokens=st.integers(2, 5), seed=seeds)
def test_what_is_behind_or_beside_the_matrix_is_differentiated(kind, tokens, seed):
    assert_read(WHOLE[kind](seed), heads.random_ids(2, tokens, seed), seed, 2**20)


@few
@given(values=st.lists(st.floats(-2, 2), min_size=1, max_size=5), seed=seeds)
def test_each_value_of_a_classifier_of_rows_weighs_one_over_their_number(values, seed):
    model = models.row_classifier(seed, num_labels=1).double()
    rows = [[3 + 2 * b, 4 + 2 * b] for b in range(len(values))]
    with watch(model) as report:
        model(**{**make_batch(rows), "labels": torch.tensor(values, dtype=torch.float64)}).loss.backward()

    report.assert_token_mean()


@few
@given(classes=st.lists(st.integers(0, 3), min_size=1, max_size=6), seed=seeds)
def test_each_class_of_a_classifier_of_rows_is_a_target(classes, seed):
    model = models.row_classifier(seed, num_labels=4).double()
    rows = [[3 + 2 * b, 4 + 2 * b] for b in range(len(classes))]
    with watch(model) as report:
        model(**{**make_batch(rows), "labels": torch.tensor(classes)}).loss.backward()

    report.assert_token_mean()
    assert classes == [int(row.target[row.scored][0]) for row in report.rows]
