"""Records made by hand, as a reading without any rounding would give them."""

import numpy as np

from instrument.after_record import After, Reach
from instrument.record import Record, Row, Window


def a_row(weights, scored=None, intended=None, cosines=None, micro_batch=0, uniform=None, amplification=1.0, **more):
    """A row of as many targets as weights; all scored and intended where nothing is said."""
    n = len(weights)
    scored = np.array([True] * n if scored is None else scored, dtype=bool)
    values = {
        "ids": np.arange(3, 4 + n),
        "micro_batch": micro_batch,
        "target": np.arange(4, 4 + n),
        "scored": scored,
        "intended": scored.copy() if intended is None else np.array(intended, dtype=bool),
        "weight": np.array(weights, dtype=float),
        "cosine": np.array([1.0] * n if cosines is None else cosines),
        "remainder": np.zeros(n),
        "uniform": np.zeros(n) if uniform is None else np.array(uniform, dtype=float),
        "loss": np.ones(n),
        "uniform_loss": np.full(n, np.nan),
        "amplification": np.full(n, amplification),
        "backward_weight": np.array(weights, dtype=float),
    }
    return Row(**{**values, **more})


def a_window(*rows, carried=(), micro_batches=None, **more):
    """A window that an optimizer step ended, with all parameters reached."""
    ran = micro_batches or 1 + max(row.micro_batch for row in rows)
    values = {"forwards": ran, "stepped": True, "reached": 2, "trainable": 2, "padding": 0.0}
    return Window(list(rows), list(carried), ran, **{**values, **more})


def a_record(*windows, vocabulary=16, dtype="float64"):
    """A record of these windows."""
    return Record("live", "somewhere", vocabulary, dtype, "float32", windows=list(windows))


def an_after(names=("a", "b"), **more):
    """What follows the backward of a window in which all is right, and no step was given."""
    there = np.ones((len(names), 1), dtype=bool)
    values = {
        "reach": Reach(names, there, there, np.ones(len(names), dtype=bool)),
        "sums": [],
        "before": np.ones(len(names)),
        "entry": np.ones(len(names)),
        "bent": 0.0,
        "step": None,
        "max_norm": float("nan"),
        "sizes": np.full(len(names), 4.0),
        "dims": np.full(len(names), 2.0),
    }
    return After(**{**values, **more})
