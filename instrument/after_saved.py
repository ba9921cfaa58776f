"""What was measured after backward, read back from plain lists to the last bit."""

from typing import Any

import numpy as np

from .after_record import Addends, After, Reach, Step, Sum

KINDS = (After, Reach, Sum, Addends, Step)
TYPES = {"ids": np.int64} | dict.fromkeys(("arrived", "nonzero", "ran", "hidden", "cut", "part"), np.bool_)


def after_of(plain: dict[str, Any]) -> After:
    """One window's."""
    step = plain["step"]
    made: dict[str, Any] = {"reach": Reach(**arrays(plain["reach"])), "step": step and Step(**arrays(step))}
    made["sums"] = [Sum(**found) for found in plain["sums"]]
    made["addends"] = [Addends(**arrays(found)) for found in plain["addends"]]
    made["ranks"] = [after_of(found) for found in plain["ranks"]]
    return After(**{**arrays({name: v for name, v in plain.items() if name not in made}), **made})


def arrays(plain: dict[str, Any]) -> dict[str, Any]:
    """The fields of one of them: lists are arrays, and lists of words are tuples."""
    words = {"names", "zeros", "frozen", "unsummed"}
    return {
        name: tuple(value)
        if name in words
        else np.array(value, dtype=TYPES.get(name, np.float64))
        if isinstance(value, list)
        else value
        for name, value in plain.items()
    }
