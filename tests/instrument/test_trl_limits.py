"""What the report's rows hold of each limit of a loss: a form without it, or with another, is contradicted."""

import inspect

import numpy as np
import pytest

from closed_forms import policy, preference
from tests.instrument.test_trl_checks import outcome


@pytest.mark.parametrize(
    ("name", "module", "form", "never"),
    [
        ("GRPO cispo, token", policy, "cispo", lambda form: lambda q, a, cap: form(q, a, 1e9)),
        ("GRPO cispo, sequence", policy, "cispo", lambda form: lambda q, a, cap: form(q, a, 1e9)),
        ("DPO hinge", preference, "hinge", lambda form: lambda x, y, beta: form(np.minimum(x, y), y, beta)),
        ("CPO hinge", preference, "hinge", lambda form: lambda x, y, beta: form(np.minimum(x, y), y, beta)),
    ],
)
def test_rows_of_a_check_lie_on_both_sides_of_its_bound(name, module, form, never, monkeypatch):
    monkeypatch.setattr(module, form, never(getattr(module, form)))

    assert outcome(name).status == "FAULT"


def swapped(form):
    """The limit from below is taken for that from above, and the other way round."""
    signature = inspect.signature(form)

    def wrong(*args, **kwargs):
        bound = signature.bind(*args, **kwargs)
        bound.arguments["low"], bound.arguments["high"] = bound.arguments["high"], bound.arguments["low"]
        return form(*bound.args, **bound.kwargs)

    return wrong


def without(limit, off):
    """A limit that never cuts."""

    def change(form):
        signature = inspect.signature(form)

        def wrong(*args, **kwargs):
            bound = signature.bind(*args, **kwargs)
            bound.arguments[limit] = off
            return form(*bound.args, **bound.kwargs)

        return wrong

    return change


LIMITED = {
    "GRPO clipped": "clipped",
    "GRPO clipped, sequence": "clipped",
    "GRPO two-sided": "clipped",
    "RLOO": "clipped",
    "RLOO, advantages normalized": "clipped",
    "RLOO without KL": "clipped",
    "Async GRPO": "clipped",
    "GMPO": "geometric",
    "GMPO with KL": "geometric",
}
# A bound below 1 + epsilon_high leaves nothing to that.
CHANGES = {"swapped": swapped, "low": without("low", 1.0), "high": without("high", 1e9)}


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("name", LIMITED)
def test_one_limit_of_a_check_is_not_taken_for_the_other_or_for_none(name, change, monkeypatch):
    change = "delta" if (name, change) == ("GRPO two-sided", "high") else change
    changes = {**CHANGES, "delta": without("delta", np.inf)}
    monkeypatch.setattr(policy, LIMITED[name], changes[change](getattr(policy, LIMITED[name])))

    assert outcome(name).status == "FAULT"
