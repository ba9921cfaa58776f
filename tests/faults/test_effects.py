"""Every fault shows its own closed form in a real loop, and nothing else does."""

import functools
import inspect
from importlib import import_module

import numpy as np
import pytest

from faults import CATALOGUE, WEAKENED, planted
from tests.faults.scenarios import SCENARIOS
from tests.faults.update_scenarios import READINGS

# Fault by fault, so that the workers of a run share no fault and each run is made once.
every_fault = pytest.mark.parametrize("name", CATALOGUE, scope="module")

# Far above the rounding of a float32 loss (1.2e-7 over the first ten faults), far below the 5 % by which each effect
# must differ from its clean form.
RTOL = 1e-5


@functools.cache
def clean_run(scenario):
    return SCENARIOS[scenario]()


@functools.cache
def broken_run(name):
    """The run with the fault on, and the calls of its seam."""
    with planted(CATALOGUE[name]) as hits:
        run = SCENARIOS[CATALOGUE[name].visible]()
    return run, hits.count


def weights_of(run):
    """Weights of all targets, window by window; rows that stayed from earlier windows come first, as they ran first."""
    rows = [row for window in run.report.windows for row in window.carried + window.by_micro_batch()]
    return np.concatenate([row.weight for row in rows])


def log_of(run):
    """Logged loss over the objective that was differentiated, window by window."""
    return np.array([log / window.objective() for log, window in zip(run.logged, run.report.windows, strict=True)])


def pattern_of(run):
    """Which sequence's loss depends on which sequence's inputs, 0 or 1, batch by batch and row by row."""
    return np.concatenate([leaks.pattern().ravel() for leaks in run.report]).astype(float)


def evaluated(form, run):
    """A closed form, named "module:name", on what it needs to know of each window."""
    module, _, name = form.partition(":")
    function = getattr(import_module(module), name)
    needed = inspect.signature(function).parameters
    values = [function(**{name: known[name] for name in needed}) for known in run.arguments]
    lines = [np.ravel(value) if isinstance(value, float) else np.concatenate(value) for value in values]
    return np.concatenate(lines).astype(float)


def numbers_of(run):
    """Numbers that a run gives as they are: which parts were touched, how often each sample ran, a verdict."""
    return np.concatenate(run.report).astype(float)


def behind_backward(reading):
    """Reads one of the quantities behind backward."""
    return lambda run: np.array(reading(run.report, run.arguments), dtype=float)


READ = {
    "weights": weights_of,
    "log": log_of,
    "leak": pattern_of,
    "run": numbers_of,
    "ledger": numbers_of,
    "verdict": numbers_of,
}
READ |= {quantity: behind_backward(reading) for quantity, reading in READINGS.items()}
CLEAN = {
    "weights": "closed_forms.aggregation:token_mean",
    "log": "closed_forms.logged:equal",
    "leak": "closed_forms.leaks:separate",
    "run": "closed_forms.absence:nothing",
    "ledger": "closed_forms.shares:each_once",
}


def clean_form(fault):
    return fault.clean or CLEAN[fault.quantity]


@every_fault
def test_effect_differs_from_the_clean_form_on_these_rows(name):
    fault = CATALOGUE[name]
    run = clean_run(fault.visible)

    effect, clean = evaluated(fault.effect, run), evaluated(clean_form(fault), run)
    assert effect.shape != clean.shape or not np.allclose(effect, clean, rtol=0.05, atol=0)


@every_fault
def test_run_without_the_fault_is_clean(name):
    fault = CATALOGUE[name]
    run = clean_run(fault.visible)

    np.testing.assert_allclose(READ[fault.quantity](run), evaluated(clean_form(fault), run), rtol=RTOL, atol=0)


@every_fault
def test_run_with_the_fault_shows_exactly_its_effect(name, record_property):
    fault = CATALOGUE[name]
    run, _ = broken_run(name)
    measured, declared = READ[fault.quantity](run), evaluated(fault.effect, run)
    # What `python -m mutation prove` prints: every different value once.
    record_property("measured", np.unique(measured.round(6)).tolist())
    record_property("declared", np.unique(declared.round(6)).tolist())

    np.testing.assert_allclose(measured, declared, rtol=RTOL, atol=0)


def between(clean, effect, share, dilutes):
    """What lies at a share of the way from one to the other, or of the way between their reciprocals."""
    if dilutes == "linear":
        return (1 - share) * clean + share * effect
    divisor = (1 - share) * effect + share * clean
    return np.divide(clean * effect, divisor, out=np.zeros_like(divisor), where=divisor != 0)


@pytest.mark.parametrize("name", [name for name, fault in CATALOGUE.items() if fault.dilutes])
def test_a_hundredth_of_a_fault_shows_a_hundredth_of_its_effect(name):
    fault = CATALOGUE[name]
    with planted(WEAKENED[f"{name}@0.01"]) as hits:
        run = SCENARIOS[fault.visible]()

    clean, effect = evaluated(clean_form(fault), run), evaluated(fault.effect, run)
    assert hits.count > 0
    # Where both cancel to nothing, what is left is rounding of the two.
    np.testing.assert_allclose(
        READ[fault.quantity](run),
        between(clean, effect, 0.01, fault.dilutes),
        rtol=RTOL,
        atol=1e-7 * np.abs(clean).max(),
    )


@every_fault
def test_run_reaches_the_seam(name):
    _, calls = broken_run(name)

    assert calls > 0


@pytest.mark.parametrize("name", [name for name, fault in CATALOGUE.items() if fault.quantity == "log"])
def test_a_fault_of_the_log_leaves_the_weights_alone(name):
    run, _ = broken_run(name)

    np.testing.assert_allclose(weights_of(run), evaluated(CLEAN["weights"], run), rtol=RTOL, atol=0)


@pytest.mark.parametrize("name", SCENARIOS)
def test_every_scenario_shows_a_fault(name):
    assert name in {fault.visible for fault in CATALOGUE.values()}
