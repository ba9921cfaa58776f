"""A loop written by hand, in a test of its own project: the loop is called as it is, on rows and a model for testing.

pytest -c /dev/null examples/in_tests/test_own_loop.py
"""

import torch
from transformers import LlamaConfig, LlamaForCausalLM

from instrument import make_batch


def train_step(model, rows, optimizer) -> None:
    """The loop under test: accumulation over micro-batches, divided by the targets of all of them."""
    batches = [make_batch(rows[start : start + 2]) for start in range(0, len(rows), 2)]
    targets = sum(int((batch["labels"][:, 1:] != -100).sum()) for batch in batches)
    for batch in batches:
        model(**batch, num_items_in_batch=targets).loss.backward()
    optimizer.step()
    optimizer.zero_grad()


def build() -> LlamaForCausalLM:
    torch.manual_seed(0)
    sizes = {"hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 2, "num_attention_heads": 4}
    return LlamaForCausalLM(LlamaConfig(vocab_size=64, **sizes))


def test_every_token_weighs_the_same_however_the_rows_are_split(weighbridge):
    def step(model, rows):
        train_step(model, rows, torch.optim.SGD(model.parameters(), lr=0.1))

    weighbridge.assert_token_mean(weighbridge.xray(step, lengths=[3, 4, 6, 12]))


def test_the_step_reaches_the_whole_model_and_moves_it_by_its_rule(weighbridge):
    model = build()
    optimizer = torch.optim.AdamW(model.parameters())

    with weighbridge.watch(model, optimizer) as report:
        train_step(model, [[3, 4, 5], [6, 7, 8, 9, 10]], optimizer)

    weighbridge.assert_reaches(report)
    assert report.ok, report


def test_packed_documents_do_not_read_each_other(weighbridge):
    ids = torch.tensor([[3, 4, 5, 6, 7, 8, 9]])
    place = torch.tensor([[0, 1, 2, 0, 1, 2, 3]])
    labels = torch.where(place > 0, ids, -100)

    batch = {"input_ids": ids, "position_ids": place, "labels": labels, "use_cache": False}
    weighbridge.assert_no_leak(build(), batch)


def test_watching_changes_nothing(weighbridge):
    def train(model):
        train_step(model, [[3, 4, 5], [6, 7, 8]], torch.optim.AdamW(model.parameters()))

    weighbridge.assert_unchanged_training(build, train)
