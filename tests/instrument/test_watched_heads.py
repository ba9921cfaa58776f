"""Watched heads that score their labels in place: rows, tokens, choices, masked tokens, a decoder's tokens."""

import pytest
import torch
from accelerate import Accelerator
from hypothesis import given
from hypothesis import strategies as st
from transformers import (
    BertConfig,
    BertForMaskedLM,
    BertForMultipleChoice,
    BertForSequenceClassification,
    BertForTokenClassification,
    LlamaForQuestionAnswering,
    T5Config,
    T5ForConditionalGeneration,
    XLMConfig,
    XLMWithLMHeadModel,
)

from closed_forms import aggregation
from instrument import expected_weights, watch
from instrument.loops.trainer import run_trainer
from tests.instrument import models
from tests.instrument.messages import says

IDS = torch.arange(3, 27).view(4, 6)
PARITY = IDS % 2


def bert(kind, **config):
    """A tiny BERT with that head, without dropout."""
    settings = {"vocab_size": 61, "hidden_size": 16, "intermediate_size": 24, "num_hidden_layers": 1, **config}
    still = {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0, "num_attention_heads": 2}
    return models.seeded(lambda: kind(BertConfig(**settings, **still)))


def t5():
    sizes = {"d_model": 16, "d_kv": 8, "d_ff": 24, "num_layers": 1, "num_heads": 2, "decoder_start_token_id": 0}
    return models.seeded(lambda: T5ForConditionalGeneration(T5Config(vocab_size=61, dropout_rate=0.0, **sizes)))


def xlm():
    sizes = {"emb_dim": 16, "n_layers": 1, "n_heads": 2, "dropout": 0.0, "attention_dropout": 0.0}
    return models.seeded(lambda: XLMWithLMHeadModel(XLMConfig(vocab_size=61, **sizes)))


def several(ids):
    return ids[:, :3].remainder(2).float()


HEADS = {
    "classes of rows": (lambda: bert(BertForSequenceClassification), IDS, PARITY[:, 0], 4),
    "labels of rows": (lambda: bert(BertForSequenceClassification, num_labels=3), IDS, several(IDS), 4),
    "values of rows": (lambda: bert(BertForSequenceClassification, num_labels=1), IDS, IDS[:, 0] / 7, 4),
    "classes of tokens": (lambda: bert(BertForTokenClassification), IDS, PARITY, 24),
    "choices": (lambda: bert(BertForMultipleChoice), IDS.view(4, 2, 3), PARITY[:, 0], 4),
    "masked tokens": (lambda: bert(BertForMaskedLM), IDS, IDS.where(PARITY == 1, -100), 12),
    "a decoder's tokens": (t5, IDS, IDS, 24),
    "a decoder without a shift": (xlm, IDS, IDS, 24),
}


@pytest.mark.parametrize("name", HEADS)
@given(cuts=st.sampled_from([[4], [1, 3], [3, 1], [1, 2, 1], [2, 1, 1], [1, 1, 1, 1]]))
def test_uneven_micro_batches_have_the_weights_of_their_closed_form(name, cuts):
    make, ids, labels, _ = HEADS[name]
    model = make()

    with watch(model) as report:
        start = 0
        for rows in cuts:
            part = slice(start, start := start + rows)
            (model(input_ids=ids[part], labels=labels[part]).loss / len(cuts)).backward()

    report.assert_weights(expected_weights(report, aggregation.mean_of_micro_batch_means))


@pytest.mark.parametrize("name", HEADS)
def test_a_right_window_is_a_mean_over_all_labels(name):
    make, ids, labels, targets = HEADS[name]
    model = make()

    with watch(model) as report:
        model(input_ids=ids, labels=labels).loss.backward()

    report.assert_token_mean()
    assert targets == report.windows[0].targets()
    assert type(model).__name__ in str(report)


def collated(items):
    """Rows of the Trainer as one batch with a class for each."""
    ids = torch.tensor([item["input_ids"] for item in items])
    return {"input_ids": ids, "labels": ids[:, 0] % 2}


def trained(model, **arguments):
    run_trainer(model, IDS.tolist(), micro_batch=1, accumulation=4, collator=collated, **arguments)


def test_a_classifier_of_rows_is_four_times_too_large_under_the_trainer():
    model = bert(BertForSequenceClassification)

    with watch(model) as report:
        trained(model)

    assert "sum of micro-batch means, M = 4 times too large" == report.verdicts[0].name
    assert pytest.approx([4.0] * 4, rel=1e-5) == [float(row.weight[0]) * 4 for row in report.rows]


@pytest.mark.usefixtures("fresh_accelerate")
@pytest.mark.parametrize(("factor", "right"), [(1.0, True), (1.1, False)])
@pytest.mark.parametrize("name", HEADS)
def test_under_accelerates_half_precision_the_logits_that_the_loss_has_read_are_looked_at(name, factor, right):
    build, ids, labels, _ = HEADS[name]
    # What it hands out is a copy in float32, behind the loss.
    model = Accelerator(mixed_precision="bf16", cpu=True).prepare(build())
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)

    with watch(model) as report:
        (factor * model(input_ids=ids, labels=labels).loss).backward()
        optimizer.step()

    assert "bfloat16" == report.record.work_dtype
    assert right is report.verdicts[0].ok
    assert right or "token weights follow the token mean times 1." in report.verdicts[0].faults[0]


def test_label_smoothing_outside_of_the_model_is_told_though_no_labels_pass_through_it():
    # Of two classes smoothing cannot be told from a smaller weight.
    model = bert(BertForSequenceClassification, num_labels=3)

    with watch(model) as report:
        trained(model, label_smoothing_factor=0.25)

    assert ("label smoothing 0.25",) == report.verdicts[0].remarks


def test_training_is_bitwise_what_it_is_unwatched():
    plain, watched = (bert(BertForSequenceClassification) for _ in range(2))

    trained(plain)
    with watch(watched):
        trained(watched)

    assert all(torch.equal(a, b) for a, b in zip(plain.parameters(), watched.parameters()))
    assert not watched._forward_hooks


def test_a_label_on_padding_is_a_fault():
    model = bert(BertForTokenClassification)
    mask = torch.ones_like(IDS)
    mask[1, 4:] = 0

    with watch(model) as report:
        model(input_ids=IDS, attention_mask=mask, labels=PARITY).loss.backward()

    assert "2 targets carried a label that should not be scored" in report.verdicts[0].faults


def test_outputs_as_a_tuple_and_a_peft_wrapper_are_read():
    model = models.with_lora(base=models.row_classifier, task_type="SEQ_CLS")

    with watch(model) as report:
        loss = model(input_ids=IDS, labels=PARITY[:, 0], return_dict=False)[0]
        loss.backward()

    report.assert_token_mean()


def test_values_without_labels_are_refused():
    model = bert(BertForSequenceClassification, num_labels=1)

    with pytest.raises(ValueError, match=says("no labels passed through the model", "call it with labels=")):
        with watch(model):
            model(input_ids=IDS).logits.square().mean().backward()


def test_a_head_that_answers_questions_is_refused():
    model = models.seeded(lambda: LlamaForQuestionAnswering(models.llama().config))

    with pytest.raises(ValueError, match=says("LlamaForQuestionAnswering", "no causal model", "classifier of rows")):
        watch(model)
