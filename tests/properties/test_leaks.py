"""R15: whatever way sequences are batched, no loss depends on another one's inputs; a planted leak is found."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from transformers import DataCollatorWithFlattening

from closed_forms import leaks
from instrument import make_batch, tracer_rows
from instrument.leak import find_leaks, leak_matrix
from instrument.leak_probe import build_leak_probe
from instrument.leak_sequences import by_token
from instrument.leak_watch import watch_leaks
from instrument.loops.sft import run_sft
from instrument.loops.trainer import run_trainer
from instrument.probe import vocabulary_for
from tests.instrument.leak_models import Tagger, padded_batch

# Without a document of three tokens it cannot be seen whether the model carries anything from token to token.
lengths = st.lists(st.integers(2, 7), min_size=2, max_size=6).filter(lambda drawn: max(drawn) > 2)
precisions = st.sampled_from([torch.float32, torch.float64])
seeds = st.integers(0, 2**16)


@st.composite
def rows_with_short_ones(draw):
    """Tracer rows of 1 to 7 tokens, two of which have a target."""
    drawn = draw(st.permutations(draw(lengths) + draw(st.lists(st.just(1), max_size=2))))
    return [row[:n] for row, n in zip(tracer_rows([max(n, 2) for n in drawn], draw(seeds)), drawn)]


def searched(train, rows, *kind, **config):
    """What a search of a trainer's first batch finds, changed tokens included, the documents told by their tokens."""
    model = build_leak_probe(vocabulary_for(rows), *kind, **config)
    with watch_leaks(model, by_token(rows), forward=True) as found:
        train(model, rows)
    return found[0]


def flattened(model, rows):
    run_trainer(model, rows, micro_batch=len(rows), collator=DataCollatorWithFlattening())


def flattened_with_lengths(model, rows):
    collator = DataCollatorWithFlattening(return_flash_attn_kwargs=True, return_seq_idx=True)
    run_trainer(model, rows, micro_batch=len(rows), collator=collator)


def two_packed_rows(model, rows):
    """Two rows, each with all of the documents, the second in the reverse order and with ids of its own."""
    there = [[token + sum(map(len, rows)) for token in row] for row in rows]

    def collate(items):
        flat = [DataCollatorWithFlattening()([{"input_ids": row} for row in pack]) for pack in (rows, there[::-1])]
        return {name: torch.cat([part[name] for part in flat]) for name in flat[0]}

    run_trainer(model, rows, micro_batch=len(rows), collator=collate)


def packed(model, rows):
    run_sft(model, rows, micro_batch=len(rows), packing=True, max_length=8)


def packed_and_split(model, rows):
    run_sft(model, rows, micro_batch=len(rows), packing=True, packing_strategy="bfd_split", max_length=5)


def without_padding(model, rows):
    run_sft(model, rows, micro_batch=len(rows), padding_free=True, max_length=None)


CHUNKED = {
    "attention_chunk_size": 3,
    "layer_types": ["chunked_attention"] * 2,
    "no_rope_layers": [1, 1],
    "num_local_experts": 2,
    "intermediate_size_mlp": 48,
}
FLATTENED = {
    "llama": (flattened, "llama", {}),
    "eager": (flattened, "llama", {"attn_implementation": "eager"}),
    "cu_seq_lens": (flattened_with_lengths, "llama", {}),
    "sliding window": (flattened, "mistral", {"sliding_window": 3}),
    "chunks": (flattened, "llama4_text", CHUNKED),
}
SFT = {"bfd": packed, "bfd_split": packed_and_split, "padding_free": without_padding}


@pytest.mark.parametrize("name", FLATTENED)
@given(rows=rows_with_short_ones(), dtype=precisions)
def test_a_flattened_batch_does_not_leak(name, rows, dtype):
    train, kind, config = FLATTENED[name]

    assert not searched(train, rows, kind, dtype=dtype, **config)


@given(lengths=lengths, dtype=precisions)
def test_several_packed_rows_do_not_leak(lengths, dtype):
    rows = tracer_rows(lengths)
    model = build_leak_probe(2 * vocabulary_for(rows), dtype=dtype)
    with watch_leaks(model, forward=True) as found:
        two_packed_rows(model, rows)

    assert len(found[0].sequences) == 2 * len(lengths)
    assert not found[0]


@pytest.mark.parametrize("kind", ["llama", "mamba", "lfm2"])
@given(lengths=lengths, side=st.sampled_from(["left", "right"]), pad_to=st.integers(0, 9), dtype=precisions)
def test_padded_rows_do_not_leak(kind, lengths, side, pad_to, dtype):
    config = {"lfm2": {"layer_types": ["conv", "full_attention"], "block_ff_dim": 48}, "mamba": {"state_size": 4}}

    def train(model, rows):
        run_trainer(model, rows, micro_batch=len(rows), padding_side=side, pad_to=pad_to)

    assert not searched(train, tracer_rows(lengths), kind, dtype=dtype, **config.get(kind, {}))


@given(rows=st.integers(2, 4), length=st.integers(3, 7), dtype=precisions)
def test_no_loss_depends_on_a_later_token(rows, length, dtype):
    ids = torch.tensor(tracer_rows([length] * rows))
    model = build_leak_probe(int(ids.max()) + 1, dtype=dtype)

    assert not find_leaks(model, {"input_ids": ids, "labels": ids}, every_position=True)


@pytest.mark.parametrize("name", SFT)
@settings(max_examples=5)
@given(lengths=lengths, seed=seeds)
def test_trl_does_not_leak(name, lengths, seed):
    assert not searched(SFT[name], tracer_rows(lengths, seed))


@settings(max_examples=5)
@given(halves=st.lists(st.integers(2, 6), min_size=1, max_size=3))
def test_wrapped_packs_leak_from_the_front(halves):
    packs = [[n, 8 - n] for n in halves]

    def train(model, rows):
        run_sft(model, rows, micro_batch=len(packs), packing=True, packing_strategy="wrapped", max_length=8)

    found = searched(train, tracer_rows([n for pack in packs for n in pack]))
    np.testing.assert_array_equal(found.pattern(), leaks.rows_of_packs(packs))


@settings(max_examples=5)
@given(batches=st.integers(1, 4), asked=st.integers(1, 4))
def test_as_many_batches_are_searched_as_were_asked_for(batches, asked):
    rows = tracer_rows([3, 4] * batches)
    model = build_leak_probe(vocabulary_for(rows))
    with watch_leaks(model, batches=asked) as found:
        run_trainer(model, rows, micro_batch=2)

    assert len(found) == min(batches, asked)


@st.composite
def planted_graphs(draw):
    """Lengths of documents in one row, and which document's tokens may see all of which other's."""
    sizes = draw(st.lists(st.integers(2, 5), min_size=2, max_size=9).filter(lambda drawn: max(drawn) > 2))
    edges = draw(st.sets(st.tuples(*[st.integers(0, len(sizes) - 1)] * 2).filter(lambda e: e[0] != e[1]), max_size=8))
    return sizes, sorted(edges)


def batch_with_mask(sizes, edges):
    """A batch of one row whose 4-D mask keeps documents apart but for the edges."""
    document_t = torch.arange(len(sizes)).repeat_interleave(torch.tensor(sizes))
    mask_tt = (document_t[:, None] == document_t) & torch.ones(sum(sizes), sum(sizes)).tril().bool()
    for i, j in edges:
        mask_tt |= (document_t == i)[:, None] & (document_t == j)
    batch = DataCollatorWithFlattening()([{"input_ids": row} for row in tracer_rows(sizes)])
    return {**batch, "attention_mask": mask_tt[None, None]}


@given(planted=planted_graphs(), layers=st.integers(1, 3), dtype=precisions, seed=seeds)
def test_exactly_the_planted_leaks_are_found(planted, layers, dtype, seed):
    sizes, edges = planted
    reads = np.eye(len(sizes), dtype=int)
    for i, j in edges:
        reads[i, j] = 1
    model = build_leak_probe(3 + sum(sizes), seed=seed, dtype=dtype, num_hidden_layers=layers)

    found = find_leaks(model, batch_with_mask(sizes, edges))
    # Each layer hands on what the one before has read.
    np.testing.assert_array_equal(found.pattern(), np.linalg.matrix_power(reads, layers) > 0)


@given(planted=planted_graphs(), seed=seeds)
def test_search_and_full_matrix_agree(planted, seed):
    sizes, edges = planted
    model = build_leak_probe(3 + sum(sizes), seed=seed)
    batch = batch_with_mask(sizes, edges)

    found, matrix = find_leaks(model, batch), leak_matrix(model, batch)
    np.testing.assert_array_equal(found.pattern(), matrix > 0)
    for pair in found.pairs:
        assert pair.gradient == matrix[pair.target, pair.source]


@st.composite
def detached_graphs(draw):
    """[n][n] which row's hidden states get a part of which other's, cut from the graph."""
    n = draw(st.integers(2, 9))
    numbers = st.integers(0, n - 1)
    edges = draw(st.sets(st.tuples(numbers, numbers).filter(lambda e: e[0] != e[1]), max_size=6))
    reads_nn = torch.zeros(n, n)
    for i, j in edges:
        reads_nn[i, j] = 1
    return reads_nn


@settings(max_examples=10)
@given(reads_nn=detached_graphs(), length=st.integers(3, 5), seed=seeds)
def test_changed_tokens_show_detached_reads_and_nothing_else(reads_nn, length, seed):
    def couple(hidden):
        return hidden + torch.einsum("ij,jth->ith", reads_nn, hidden.detach())

    found = find_leaks(Tagger(couple, seed), padded_batch(len(reads_nn), length), forward=True)
    assert not found.pairs
    assert bool(found) == bool(reads_nn.any())
    assert (found.pattern() <= (reads_nn.numpy() > 0) | np.eye(len(reads_nn), dtype=bool)).all()


@given(lengths=lengths, dropped=st.data(), dtype=precisions)
def test_labelling_a_subset_leaves_the_rest_at_exactly_nothing(lengths, dropped, dtype):
    rows = tracer_rows(lengths)
    kept = dropped.draw(st.sets(st.integers(0, len(rows) - 1), min_size=1, max_size=len(rows) - 1))
    labels = [row if b in kept else [-100] * len(row) for b, row in enumerate(rows)]
    model = build_leak_probe(vocabulary_for(rows), dtype=dtype)

    matrix = leak_matrix(model, make_batch(rows, labels))
    assert {b for b, largest in enumerate(matrix.sum(0)) if largest > 0} == kept
