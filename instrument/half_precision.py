"""What half precision adds to the rounding of a gradient that is read at the logits."""

import math

import numpy as np
import torch

from .record import Floats


def rounded_amplification(unit: Floats, vocabulary: int, half: str, loss: str = "float32") -> Floats:
    """What stands for the amplification where a gradient is read at logits of half precision, so that `tolerance` gives

        2 u_half + 2 (V/4 + 3 log V + 13) u_32 / |r|,   and 2 (log V + 1) u_half / |r| more for a loss in half precision

    Each entry of the gradient was rounded once, and a softmax in half precision errs by u (|log p_v| + 1) p_v, which is
    log V + 1 in sum at most. The tolerance is 2 a 8 sqrt(V) u_half, up to what is smaller.

    Args:
        unit: 1 / |r|; loss: dtype of the loss.
    """
    u_half, u_32 = (torch.finfo(getattr(torch, dtype)).eps / 2 for dtype in (half, "float32"))
    spread = math.log(vocabulary)
    softmax = (vocabulary / 4 + 3 * spread + 13) * u_32 + (spread + 1) * (0.0 if loss == "float32" else u_half)
    return np.asarray((2 * u_half + 2 * unit * softmax) / (16 * math.sqrt(vocabulary) * u_half))
