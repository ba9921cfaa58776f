"""Rows that a layer runs through as one: what two faults of layers without attention do.

An emulation: the reports are about sequences packed into one row, where these layers carry over on a CPU in any case,
so the rows of a padded batch are joined instead.
"""

from typing import Any

from .._fault import Call


def patch(original: Call) -> Call:
    """Run all rows as one."""

    def forward(self: Any, hidden_states: Any, cache: Any = None, attention_mask: Any = None, **kwargs: Any) -> Any:
        rows, tokens = hidden_states.shape[:2]
        joined = original(self, hidden_states.flatten(0, 1)[None], None, None, **kwargs)
        return joined.unflatten(1, (rows, tokens))[0]

    return forward
