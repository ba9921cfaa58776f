"""`watch(expect=...)`: a run passes when it follows the form that it is meant to follow, and only then."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from instrument import make_batch, watch
from instrument.candidates import objectives
from instrument.report.report import Report
from tests.instrument.records import a_record
from tests.properties.loops import live_model, live_rows
from tests.properties.test_verdicts import counts, window_of


def forms_of(n_mb):
    """{name: weights [b][n]} of everything that a run may be meant to do."""
    return {name: [np.asarray(row) for row in objective.form(n_mb)] for name, objective in objectives().items()}


@given(n_mb=counts, data=st.data())
def test_a_run_passes_exactly_when_it_follows_the_form_that_is_expected(n_mb, data):
    forms = forms_of(n_mb)
    followed, expect = (data.draw(st.sampled_from(sorted(forms))) for _ in range(2))
    record = a_record(window_of(n_mb, forms[followed]))
    record.expect = expect

    (found,) = Report(record).verdicts

    alike = all(np.allclose(a, b, rtol=1e-12, atol=0) for a, b in zip(forms[followed], forms[expect]))
    assert found.ok == alike
    assert (found.name == expect) == alike
    assert alike or f"not the {expect}" in found.faults[0]


def test_a_loop_that_means_to_take_means_of_means_passes_when_it_is_told():
    model = live_model(0)
    rows = live_rows([4, 6, 3], 0)

    def run(**told):
        with watch(model, **told) as report:
            for row in rows:
                (model(**make_batch([row])).loss / len(rows)).backward()
        return report

    assert not run().ok
    told = run(expect="mean of micro-batch means")
    assert told.ok
    assert "OK: targets weigh as expected, mean of micro-batch means, w = 1/(M n_m)" in str(told)


def test_a_form_that_nobody_knows_is_refused():
    with pytest.raises(ValueError, match="expect='mean' is no known form: give one of token mean, per-sequence mean, "):
        watch(live_model(0), expect="mean")
