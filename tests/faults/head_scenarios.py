"""Named runs of models whose heads have something that a reading may forget, on rows that make it show.

Where a head has two directions, hidden states are zero: its columns are one direction for the first ids and another for
the rest, to which every target belongs, so that what is read is known without running anything.
"""

import torch
from torch import nn

from instrument import make_batch, watch
from instrument.loops.trainer import run_trainer
from tests.faults.told_scenarios import judged, losses_of
from tests.instrument import models
from tests.properties.loops import live_model, live_rows
from tests.ranks.jobs import watched
from tests.ranks.pool import measured


def two_directions(vocabulary, first, odds=1.0):
    """A Llama that scores the first ids along one direction and the rest along another, the first `odds` likelier."""
    model = models.llama(vocab_size=vocabulary).double()
    model.lm_head = nn.Linear(16, vocabulary, dtype=torch.float64)
    model.lm_head.weight.data.zero_()
    model.lm_head.weight.data[:first, 0] = 1
    model.lm_head.weight.data[first:, 1] = 1
    model.lm_head.bias.data.zero_()
    model.lm_head.bias.data[:first] = torch.tensor(odds).log()
    model.model.embed_tokens.weight.data.zero_()
    return model


def watched_mean(model, rows, labels=None):
    """The report of one backward of the model's mean loss."""
    with watch(model) as report:
        batch = make_batch(rows)
        model(**{**batch, "labels": batch["labels"] if labels is None else labels}).loss.backward()
    return report


def watched_wide_vocabulary():
    """A vocabulary that does not fit at once: a slice of 8192 ids, and one of the 4096 that are the targets."""
    rows = [list(range(9000 + 100 * b, 9050 + 100 * b)) for b in range(3)]
    report = watched_mean(two_directions(12288, 8192), rows)
    return report, [{"window": [[49, 49, 49]], "vocabulary": 12288, "width": 8192}]


def watched_biased_head():
    """A head whose bias makes the first 20 of 61 ids three times likelier than the rest, which are the targets."""
    report = watched_mean(two_directions(61, 20, odds=3.0), [[21, 22, 23, 24], [31, 32, 33]])
    return report, [{"window": [[3, 2]], "first": 20, "others": 41, "odds": 3.0}]


def watched_divided_logits():
    """A Granite, which divides its logits by four."""
    report = watched_mean(models.logits_divided().double(), [[3, 4, 5, 6], [7, 8, 9]])
    return report, [{"window": [[3, 2]], "divisor": 4.0}]


def watched_values():
    """A classifier of rows that is trained on one value each."""
    model = models.row_classifier(num_labels=1).double()
    report = watched_mean(model, [[3, 4, 5], [6, 7, 8], [9, 10, 11]], torch.tensor([0.5, -1.0, 2.0]).double())
    return report, [{"window": [[1, 1, 1]]}]


def watched_left_padded():
    """One window of two micro-batches that are padded on the left."""
    model, rows = live_model(0), live_rows([4, 7, 5, 3], 0)
    with watch(model) as report:
        run_trainer(model, rows, micro_batch=2, accumulation=2, padding_side="left")
    return report, [{"window": [[3, 6], [4, 2]]}]


def watched_two_forwards():
    """One backward of two forwards of a row each."""
    model = models.llama().double()
    with watch(model) as report:
        first, second = (losses_of(model, [row]) for row in live_rows([4, 7], 0))
        ((first.sum() + second.sum()) / 9).backward()
    return report, [{"window": [[3, 6]]}]


def ranks_watched():
    """One window of the Trainer on two ranks, through a model that is watched."""
    rows = live_rows([4, 7, 12, 3], 0)
    report = measured(watched, "trainer", 0, rows, rows, {"micro_batch": 1, "accumulation": 2})
    ranks = [[[3], [11]], [[6], [2]]]
    return report, [{"window": [n_b for n_mb in ranks for n_b in n_mb], "ranks": ranks}]


def ranks_apart():
    """One window on two ranks that never average their gradients, though each divides by the targets of both."""
    rows = live_rows([4, 7, 12, 3], 0)
    report = measured(watched, "ddp", 0, rows, rows, {"micro_batch": 1, "accumulation": 2, "averaged": False})
    return judged(report), [{"right": (False,)}]


HEADS = (
    watched_wide_vocabulary,
    watched_biased_head,
    watched_divided_logits,
    watched_values,
    watched_left_padded,
    watched_two_forwards,
    ranks_apart,
    ranks_watched,
)
