"""Whether every token of a TRL trainer weighs what the closed form says."""

import copy

import numpy as np

from instrument.objective_verdict import miss
from instrument.tiny import near, tiny_policy
from instrument.trl_runs import compared
from tests.properties.strategies import VOCABULARY

RATE = 0.03


def policy_and_reference(peft, seed):
    """A policy and its reference: another model near it or, with an adapter, the policy before it."""
    model = tiny_policy(VOCABULARY, seed)
    return model, copy.deepcopy(model) if peft else near(model)


def assert_follows(windows, forms):
    """Every measured weight is its closed form, as far as rounding lets it be told."""
    _, first = miss(compared(windows, forms, {}).windows)
    assert not first, first
    assert [len(window) for window in windows] == [len(window) for window in forms]
    assert not any(np.any(batch.uniform) for window in windows for batch in window if hasattr(batch, "uniform"))
