"""What the report's rows hold of each limit of a loss: a form without it, or with another, is contradicted."""

import numpy as np
import pytest

from closed_forms import policy, preference
from tests.instrument.test_trl_checks import outcome
from tests.limits import Told


@pytest.mark.parametrize(
    ("name", "module", "form", "never"),
    [
        ("GRPO cispo, token", policy, "cispo", Told("cap", 1e9)),
        ("GRPO cispo, sequence", policy, "cispo", Told("cap", 1e9)),
        ("DPO hinge", preference, "hinge", lambda form: lambda x, y, beta: form(np.minimum(x, y), y, beta)),
        ("CPO hinge", preference, "hinge", lambda form: lambda x, y, beta: form(np.minimum(x, y), y, beta)),
    ],
)
def test_rows_of_a_check_lie_on_both_sides_of_its_bound(name, module, form, never, monkeypatch):
    monkeypatch.setattr(module, form, never(getattr(module, form)))

    assert outcome(name).status == "FAULT"


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
CHANGES = {
    "never from below": Told("low", 1.0),
    "never from above": Told("high", 1e9),
    "never by its bound": Told("delta", np.inf),
    "from below as from above": Told("low", "high"),
    "from above as from below": Told("high", "low"),
}
# A bound below 1 + epsilon_high leaves nothing to that, and no other check has one.
ABOVE = ("never from above", "from above as from below")
CASES = [
    (name, change)
    for name in LIMITED
    for change in CHANGES
    if (change not in ABOVE if name == "GRPO two-sided" else change != "never by its bound")
]


@pytest.mark.parametrize(("name", "change"), CASES)
def test_one_limit_of_a_check_is_not_taken_for_the_other_or_for_none(name, change, monkeypatch):
    monkeypatch.setattr(policy, LIMITED[name], CHANGES[change](getattr(policy, LIMITED[name])))

    assert outcome(name).status == "FAULT"
