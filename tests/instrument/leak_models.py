"""Small models whose sequences are coupled by something else than attention, or apart."""

import torch
from torch import nn

VOCABULARY, SIZE = 41, 6


class Tagger(nn.Module):
    """Logits of the next token from the running mean of the inputs so far; `couple` sees the inputs [b, t, h] first."""

    def __init__(self, couple=lambda hidden: hidden, seed=0):
        super().__init__()
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            self.lookup = nn.Embedding(VOCABULARY, SIZE)
            self.head = nn.Linear(SIZE, VOCABULARY)
        self.couple = couple

    def forward(self, input_ids):
        hidden = self.couple(self.lookup(input_ids))
        steps = torch.arange(1, hidden.shape[1] + 1)[:, None]
        return self.head(torch.tanh(hidden.cumsum(1) / steps))


class WithLoss(Tagger):
    """The same, with a loss of its own and nothing else in what it returns."""

    def forward(self, input_ids, labels):
        logits = super().forward(input_ids)
        return (nn.functional.cross_entropy(logits[:, :-1].transpose(1, 2), labels[:, 1:]),)


class ReadsRowBefore(Tagger):
    """Row b gets a part of row b - 1's hidden states, as from a state that is not reset."""

    def __init__(self):
        super().__init__(lambda hidden: hidden + 0.5 * nn.functional.pad(hidden, (0, 0, 0, 0, 1, 0))[:-1])


class Normalised(Tagger):
    """Batch statistics over all rows."""

    def __init__(self):
        super().__init__()
        self.norm = nn.BatchNorm1d(SIZE)
        self.couple = lambda hidden: self.norm(hidden.transpose(1, 2)).transpose(1, 2)


def padded_batch(rows=4, length=5):
    """Rows of one length without an attention mask."""
    ids = torch.arange(rows * length).reshape(rows, length)
    return {"input_ids": ids, "labels": ids}
