"""Which token belongs to which sequence, from each thing that a batch may say."""

import pytest
import torch

from instrument.leak_sequences import Span, find_sequences

FLAT = [[0, 0, 0, 1, 1]]
SPANS = [Span(0, 0, 3), Span(0, 3, 5)]


@pytest.mark.parametrize(
    "batch",
    [
        {"position_ids": torch.tensor([[0, 1, 2, 0, 1]])},
        {"position_ids": torch.tensor([[7, 8, 9, 2, 3]])},
        {"position_ids": torch.tensor([[0, 1, 2, 5, 6]])},
        {"cu_seq_lens_q": torch.tensor([0, 3, 5], dtype=torch.int32)},
        {"cu_seq_lens_q": [0, 3, 5]},
        {"seq_idx": torch.tensor([[4, 4, 4, 5, 5]], dtype=torch.int32)},
        # What comes first decides.
        {"seq_idx": torch.tensor([FLAT[0]]), "cu_seq_lens_q": [0, 1, 5]},
        {"cu_seq_lens_q": [0, 3, 5], "position_ids": torch.arange(5)[None]},
    ],
)
def test_boundaries_in_one_row(batch):
    number, spans = find_sequences(batch, (1, 5))

    assert number.tolist() == FLAT
    assert spans == SPANS


@pytest.mark.parametrize("documents", [[slice(0, 3), slice(3, 5)], torch.tensor([[9, 9, 9, 2, 2]]), [[3, 3, 3, 4, 4]]])
def test_documents_over_what_the_batch_says(documents):
    number, spans = find_sequences({"position_ids": torch.arange(5)[None]}, (1, 5), documents)

    assert number.tolist() == FLAT
    assert spans == SPANS


def test_a_mask_takes_nothing_from_given_documents():
    mask = torch.tensor([[0, 1, 1, 1, 1]])
    number, _ = find_sequences({"attention_mask": mask}, (1, 5), [[3, 3, 3, 4, 4]])

    assert number.tolist() == FLAT


def test_slices_may_leave_tokens_out():
    number, _ = find_sequences({}, (1, 6), [slice(1, 3), slice(4, 6)])

    assert number.tolist() == [[-1, 0, 0, -1, 1, 1]]


def test_padding_belongs_to_no_row():
    mask = torch.tensor([[0, 0, 1, 1], [1, 1, 1, 0]])
    number, spans = find_sequences({"attention_mask": mask}, (2, 4))

    assert number.tolist() == [[-1, -1, 0, 0], [1, 1, 1, -1]]
    assert spans == [Span(0, 2, 4), Span(1, 0, 3)]


def test_documents_count_on_from_row_to_row():
    positions = torch.tensor([[0, 1, 0, 1], [0, 0, 1, 2]])
    number, spans = find_sequences({"position_ids": positions}, (2, 4))

    assert number.tolist() == [[0, 0, 1, 1], [2, 3, 3, 3]]
    assert spans[2:] == [Span(1, 0, 1), Span(1, 1, 4)]


def test_one_row_of_positions_is_that_of_every_row():
    number, _ = find_sequences({"position_ids": torch.tensor([[0, 1, 0, 1]])}, (2, 4))

    assert number.tolist() == [[0, 0, 1, 1], [2, 2, 3, 3]]


def test_a_4d_mask_does_not_say_where_padding_is():
    number, _ = find_sequences({"attention_mask": torch.zeros(2, 1, 3, 3)}, (2, 3))

    assert number.tolist() == [[0, 0, 0], [1, 1, 1]]


def test_the_same_id_in_two_rows_is_two_sequences():
    _, spans = find_sequences({}, (2, 2), [[0, 0], [0, 0]])

    assert spans == [Span(0, 0, 2), Span(1, 0, 2)]


def test_flattening_collator_with_everything_it_can_say():
    from transformers import DataCollatorWithFlattening

    collator = DataCollatorWithFlattening(return_flash_attn_kwargs=True, return_seq_idx=True)
    number, _ = find_sequences(collator([{"input_ids": [5, 6, 7]}, {"input_ids": [8, 9]}]), (1, 5))

    assert number.tolist() == FLAT


def test_a_span_says_where_it_is():
    assert str(Span(2, 3, 7)) == "row 2, tokens 3-6"
