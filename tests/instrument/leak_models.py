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


class ReadsDetached(Tagger):
    """Row b gets a part of row b - 1's hidden states, which are cut from the graph."""

    def __init__(self):
        super().__init__(lambda hidden: hidden + 0.5 * nn.functional.pad(hidden.detach(), (0, 0, 0, 0, 1, 0))[:-1])


class ReadsIds(Tagger):
    """Row b gets a vector that is looked up for the ids of row b - 1."""

    def __init__(self):
        super().__init__()
        self.by_ids = nn.Embedding(VOCABULARY, SIZE)

    def forward(self, input_ids):
        before = nn.functional.pad(input_ids, (0, 0, 1, 0))[:-1]
        self.couple = lambda hidden: hidden + self.by_ids(before)
        return super().forward(input_ids)


class ChoosesTokens(Tagger):
    """An expert takes the half of all tokens of the batch that score highest."""

    def __init__(self):
        super().__init__(self.route)
        self.expert = nn.Linear(SIZE, SIZE)

    def route(self, hidden):
        score_bt = hidden[:, :, 0]
        taken_bt = score_bt >= score_bt.flatten().median()
        return torch.where(taken_bt[:, :, None], self.expert(hidden), hidden)


class ReadsBoth(Tagger):
    """Row 0's logits double when the first tokens of the next two rows are other ones than 5 and 10."""

    def forward(self, input_ids):
        logits = super().forward(input_ids)
        if input_ids[1, 0] != 5 and input_ids[2, 0] != 10:
            logits[0] *= 2
        return logits


def padded_batch(rows=4, length=5):
    """Rows of one length without an attention mask."""
    ids = torch.arange(rows * length).reshape(rows, length)
    return {"input_ids": ids, "labels": ids}
