"""A loss of one's own, in a test: what each token is to weigh is written down, and compared with what it weighs.

pytest -c /dev/null examples/in_tests/test_own_loss.py
"""

import torch

from instrument import make_batch


def row_mean(logits_btv: torch.Tensor, labels_bt: torch.Tensor) -> torch.Tensor:
    """The loss under test: each row counts the same, however many targets it has."""
    logits, labels = logits_btv[:, :-1].transpose(1, 2).float(), labels_bt[:, 1:]
    each = torch.nn.functional.cross_entropy(logits, labels, ignore_index=-100, reduction="none")
    return (each.sum(1) / (labels != -100).sum(1)).mean()


def test_each_row_weighs_the_same(weighbridge):
    def step(model, rows):
        batch = make_batch(rows)
        row_mean(model(batch["input_ids"], attention_mask=batch["attention_mask"]).logits, batch["labels"]).backward()

    report = weighbridge.xray(step, lengths=[3, 5, 9])

    # Three rows with 2, 4 and 8 targets.
    weighbridge.assert_weights(report, [[1 / 6] * 2, [1 / 12] * 4, [1 / 24] * 8])
