"""The head of a model as the instrument finds it, and its gradients by plain autograd to compare with."""

import numpy as np
import torch

from closed_forms import rounding
from instrument.live import read_live
from instrument.locate import locate
from tests.instrument.models import VOCABULARY


def random_ids(rows, tokens, seed=0, vocabulary=VOCABULARY):
    """Ids that repeat, as in real text."""
    return torch.randint(3, vocabulary, (rows, tokens), generator=torch.Generator().manual_seed(seed))


def run(model, ids):
    """The head as the instrument finds it, and what one ordinary run of the model gives.

    Returns:
        The head, hidden states [b, t, h] with their graph, logits [b, t, v].
    """
    place, seen = locate(model), []

    def note(module, args, output):
        # With a frozen body nothing asks for this gradient.
        seen.append(output)
        output[0].requires_grad_(True)

    handle = place.read_point.register_forward_hook(note)
    logits = model(input_ids=ids, attention_mask=torch.ones_like(ids)).logits
    handle.remove()
    with torch.no_grad():
        return place.recognise(seen[0]), seen[0][0], logits


def by_autograd(hidden, loss_bt):
    """[n, h] gradient of each position's loss at its hidden state: the head looks at one position only."""
    return torch.autograd.grad(loss_bt.sum(), hidden, retain_graph=True)[0].flatten(0, 1)


def read(head, hidden, gradient_nh, ids, **options):
    """read_live on whole rows."""
    with torch.no_grad():
        return read_live(head, hidden.detach().flatten(0, 1), gradient_nh, ids.flatten(), **options)


def slack(logits, found):
    """[n] how far a reading may be off: nothing to speak of in float64.

    Old releases of transformers make float32 logits of a float64 model; there it is what rounding explains.
    """
    if logits.dtype == torch.float64:
        return np.full(len(found.weight), 1e-9)
    dtype = str(logits.dtype).removeprefix("torch.")
    return rounding.weight_tolerance(logits.shape[-1], dtype, "float64", found.amplification)
