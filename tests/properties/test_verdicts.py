"""A verdict names every formula that a window's weights follow and no other, and passes nothing that is off."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from instrument import make_batch, tracer_rows, watch, xray_rows
from instrument.candidates import candidates
from instrument.codes import code_of
from instrument.report.report import Report
from tests.faults.told_scenarios import smoothed_losses
from tests.instrument.records import a_record, a_row, a_window
from tests.properties.loops import live_model, live_rows
from tests.properties.strategies import few
from tests.strategies import shapes

counts = st.lists(st.lists(st.integers(1, 5), min_size=1, max_size=3), min_size=1, max_size=3)
shares = st.floats(1e-4, 0.5)


def window_of(n_mb, weights):
    """A window of rows of n_mb targets with these weights [b][n]."""
    micro_batches = [m for m, rows in enumerate(n_mb) for _ in rows]
    return a_window(*[a_row(row, micro_batch=m) for m, row in zip(micro_batches, weights, strict=True)])


def token_mean(n_mb):
    """[b][n] one over all targets."""
    return [[1 / sum(map(sum, n_mb))] * n for rows in n_mb for n in rows]


def in_rows(flat, n_mb):
    """[b][n] of [all targets]."""
    return np.split(flat, np.cumsum([n for rows in n_mb for n in rows])[:-1])


def verdicts(*windows):
    """The verdicts on windows that were read without any rounding."""
    return Report(a_record(*windows)).verdicts


@given(n_mb=counts, data=st.data())
def test_every_formula_that_fits_is_told_and_no_other(n_mb, data):
    forms = {}
    for candidate in candidates(window_of(n_mb, token_mean(n_mb))):
        forms[candidate.name] = [np.asarray(row) for row in candidate.form(n_mb)]
    followed = data.draw(st.sampled_from(sorted(forms)))

    (found,) = verdicts(window_of(n_mb, forms[followed]))

    alike = {
        name
        for name, form in forms.items()
        if all(np.allclose(a, b, rtol=1e-12, atol=0) for a, b in zip(form, forms[followed]))
    }
    assert alike == {found.name, *found.same}
    assert len(alike) == 1 + len(found.same)
    assert found.ok == ("token mean" in alike)
    assert found.nearest.deviation < 1e-12


@given(n_mb=counts.filter(lambda n_mb: sum(map(sum, n_mb)) > 1), off=shares, data=st.data())
def test_two_targets_that_are_off_by_as_much_are_no_pass(n_mb, off, data):
    n = sum(map(sum, n_mb))
    flat = np.full(n, 1 / n)
    heavy, light = data.draw(st.permutations(range(n)))[:2]
    flat[heavy] *= 1 + off
    flat[light] *= 1 - off

    (found,) = verdicts(window_of(n_mb, in_rows(flat, n_mb)))

    assert not found.ok


@given(n_mb=counts.filter(lambda n_mb: sum(map(sum, n_mb)) > 2), off=shares, data=st.data())
def test_one_target_that_is_off_is_no_pass_and_tells_how_far_the_nearest_formula_is(n_mb, off, data):
    n = sum(map(sum, n_mb))
    flat = np.full(n, 1 / n)
    flat[data.draw(st.integers(0, n - 1))] *= 1 + off
    window = window_of(n_mb, in_rows(flat, n_mb))

    (found,) = verdicts(window)

    assert not found.ok
    if found.name is None:
        misses = [n * np.abs(flat - np.concatenate(c.form(n_mb))).max() for c in candidates(window)]
        np.testing.assert_allclose(found.nearest.deviation, min(misses), rtol=1e-6)


@given(right=st.lists(st.booleans(), min_size=1, max_size=4), n_mb=counts)
def test_each_window_has_a_verdict_of_its_own(right, n_mb):
    weights = token_mean(n_mb)
    wrong = [[0.9 * w for w in row] for row in weights]

    found = verdicts(*[window_of(n_mb, weights if mark else wrong) for mark in right])

    assert right == [verdict.ok for verdict in found]


@few
@given(shape=shapes(), data=st.data())
def test_a_label_that_got_lost_is_told(shape, data):
    rows = tracer_rows(shape.lengths, shape.seed)
    places = [(b, i) for b, row in enumerate(rows) for i in range(1, len(row))]
    lost = data.draw(st.sets(st.sampled_from(places), max_size=len(places) - 1))
    labels = [[-100 if (b, i) in lost else token for i, token in enumerate(row)] for b, row in enumerate(rows)]

    report = xray_rows(lambda model, rows: model(**make_batch(rows, labels)).loss.backward(), rows, shape.seed)

    told = f"{len(lost)} of {len(places)} targets that should be scored carried no label"
    assert bool(lost) == (told in report.verdicts[0].faults)
    assert bool(lost) == (not report.ok)


@given(shape=shapes(max_rows=3), side=st.sampled_from(["left", "right"]), share=st.sampled_from([1e-6, 1e-2]))
def test_a_gradient_on_padding_is_told(shape, side, share):
    rows, model = live_rows(shape.lengths, shape.seed), live_model(shape.seed)
    batch = make_batch(rows, padding_side=side, pad_to=max(shape.lengths) + 1)
    with watch(model) as report:
        output = model(**batch)
        (output.loss + share * output.logits[batch["attention_mask"] == 0].logsumexp(-1).mean()).backward()

    assert any("gradient reaches padding" in fault for fault in report.verdicts[0].faults)
    assert not report.ok


@few
@given(shape=shapes(max_rows=3, masks=False), side=st.sampled_from(["left", "right"]), more=st.integers(1, 4))
def test_padding_whose_labels_are_not_masked_is_told_before_the_number_that_comes_of_it(shape, side, more):
    rows, model = live_rows(shape.lengths, shape.seed), live_model(shape.seed)
    batch = make_batch(rows, padding_side=side, pad_to=max(shape.lengths) + more)
    with watch(model) as report:
        model(**{**batch, "labels": batch["input_ids"]}).loss.backward()

    first, *others = map(code_of, report.verdicts[0].faults)
    assert "padding-trained" == first
    assert "scaled" in others


@few
@given(lengths=st.lists(st.integers(2, 5), min_size=2, max_size=3), seed=st.integers(0, 2**16))
def test_where_nothing_empties_the_gradient_every_earlier_row_is_told(lengths, seed):
    rows = tracer_rows(lengths, seed)

    def step(model, rows):
        optimizer = torch.optim.SGD(model.parameters(), lr=0.0)
        for row in rows:
            model(**make_batch([row])).loss.backward()
            optimizer.step()

    report = xray_rows(step, rows, seed)

    for number, (window, verdict) in enumerate(zip(report.windows, report.verdicts)):
        assert rows[:number] == [row.ids.tolist() for row in window.carried]
        assert bool(number) == any("did not run in this window" in fault for fault in verdict.faults)


@few
@given(shape=shapes(masks=False), data=st.data())
def test_a_gradient_behind_the_last_target_of_a_row_is_told(shape, data):
    rows = tracer_rows(shape.lengths, shape.seed)
    b = data.draw(st.integers(0, len(rows) - 1))

    def step(model, rows):
        output = model(**make_batch(rows))
        (output.loss + 1e-4 * output.logits[b, len(rows[b]) - 1].logsumexp(-1)).backward()

    report = xray_rows(step, rows, shape.seed)

    told = f"1 ids that precede no target of the rows have a gradient: {rows[b][-1]}"
    assert told in report.verdicts[0].faults


@few
@given(lengths=st.lists(st.integers(2, 5), min_size=2, max_size=4), data=st.data())
def test_rows_that_never_ran_are_told(lengths, data):
    rows = tracer_rows(lengths)
    ran = data.draw(st.integers(1, len(rows) - 1))

    report = xray_rows(lambda model, rows: model(**make_batch(rows[:ran])).loss.backward(), rows)

    left = ", ".join(str(b) for b in range(ran, len(rows)))
    assert report.verdicts[0].faults == (f"{len(rows) - ran} of the rows that were given never ran: {left}",)


@pytest.mark.parametrize("uneven", [False, True])
@few
@given(share=st.sampled_from([0.1, 0.3]), targets=st.integers(3, 6), seed=st.integers(0, 2**16))
def test_label_smoothing_has_one_share_for_all_or_is_told(uneven, share, targets, seed):
    shares = [share] * (targets - 1) + [0.4 - share if uneven else share]

    def step(model, rows):
        smoothed_losses(model, rows, shares).mean().backward()

    (verdict,) = xray_rows(step, tracer_rows([targets + 1], seed), seed).verdicts

    assert uneven == any("is spread over the vocabulary" in fault for fault in verdict.faults)
    assert uneven == (not verdict.ok)
