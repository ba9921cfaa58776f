"""Which exceptions are a test's own verdict, which are a refusal, and which are accidents."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.errors import FailedHealthCheck, FlakyFailure

from mutation.raised import Raised, describe, kind_of

ROOT = Path(__file__).parents[2]


def caught(source, module="tests.example", file=ROOT / "tests" / "example.py"):
    """Run source as if it stood in a module, and describe what it raises."""
    names = {"__name__": module, "np": np, "pytest": pytest}
    with pytest.raises(BaseException) as info:
        exec(compile(source, str(file), "exec"), names)
    return describe(info.value, ROOT)


def group(*members, of=ExceptionGroup):
    """A group of what the sources raise."""
    errors = []
    for source in members:
        with pytest.raises(BaseException) as info:
            exec(compile(source, str(ROOT / "tests" / "example.py"), "exec"), {"__name__": "tests.example"})
        errors.append(info.value)
    return describe(of("several", errors), ROOT)


@pytest.mark.parametrize(
    "source",
    [
        "assert 1 == 2",
        "raise AssertionError",
        "np.testing.assert_allclose(1, 2)",
        "pytest.fail('no')",
        "with pytest.raises(ValueError): pass",
        "with pytest.raises(ValueError) as info: raise ValueError('b')\ninfo.match('a')",
        "class Own(AssertionError): pass\nraise Own",
        "import unittest\nunittest.TestCase().assertEqual(1, 2)",
    ],
)
def test_what_a_test_asserts_is_an_assertion(source):
    assert kind_of(caught(source)) == "assert"


def test_a_failed_torch_comparison_is_an_assertion():
    import torch

    with pytest.raises(AssertionError) as info:
        torch.testing.assert_close(torch.zeros(1), torch.ones(1))

    assert kind_of(describe(info.value, ROOT)) == "assert"


@pytest.mark.parametrize(
    "file",
    ["/usr/lib/python3/site-packages/library/model.py", ROOT / ".tox/run/lib/site-packages/library/model.py"],
)
def test_a_librarys_own_assertion_is_an_error(file):
    assert kind_of(caught("assert 1 == 2", module="library.model", file=file)) == "error"


@pytest.mark.parametrize("module", ["pandas._testing.asserters", "numpy.testing", "torch.testing._comparison"])
def test_a_librarys_functions_for_testing_speak_for_the_test(module):
    assert kind_of(caught("assert 1 == 2", module=module, file="/lib/library.py")) == "assert"


def test_only_pytests_own_failure_is_one():
    assert kind_of(caught("class Failed(Exception): pass\nraise Failed")) == "error"
    assert kind_of(caught("raise ValueError", module="_pytest.fixtures", file="/lib/pytest.py")) == "error"


def test_code_without_a_module_is_described():
    with pytest.raises(AssertionError) as info:
        exec(compile("assert 0", str(ROOT / "tests" / "example.py"), "exec"), {})

    assert describe(info.value, ROOT).module == ""


@pytest.mark.parametrize("source", ["1 + 'a'", "None.grad", "1 / 0", "import no_such_module", "raise SystemExit"])
def test_an_accident_is_an_error(source):
    assert kind_of(caught(source)) == "error"


@pytest.mark.parametrize("name", ["ValueError", "LookupError", "RuntimeError"])
def test_the_instruments_refusal_counts(name):
    assert kind_of(caught(f"raise {name}('why')", module="instrument.readout")) == "refusal"


def test_a_refusal_counts_out_of_a_with_block():
    source = "import contextlib\nwith contextlib.suppress(KeyError):\n    raise ValueError('why')"

    assert kind_of(caught(source, module="instrument.readout")) == "refusal"


@pytest.mark.parametrize("module", ["transformers.trainer", "tests.example", "instrumentation"])
def test_nobody_elses_refusal_counts(module):
    assert kind_of(caught("raise ValueError('why')", module=module)) == "error"


@pytest.mark.parametrize("source", ["int('a')", "{}['a']", "raise TypeError('why')", "raise KeyError('why')"])
def test_the_instruments_accident_is_no_refusal(source):
    assert kind_of(caught(source, module="instrument.readout")) == "error"


@pytest.mark.parametrize(
    ("members", "kind"),
    [
        (["assert 0", "assert 1 == 2"], "assert"),
        (["assert 0", "1 / 0"], "error"),
        (["1 / 0"], "error"),
    ],
)
def test_a_group_counts_when_all_of_it_does(members, kind):
    assert kind_of(group(*members)) == kind


@pytest.mark.parametrize(("sources", "kind"), [(["refuse"], "refusal"), (["refuse", "assert"], "assert")])
def test_refusals_count_in_a_group(sources, kind):
    raised = {
        "refuse": caught("raise ValueError", module="instrument.readout"),
        "assert": caught("assert 0"),
    }

    assert kind_of(Raised(("ExceptionGroup",), members=tuple(raised[source] for source in sources))) == kind


def test_the_members_of_a_raised_group_are_described():
    described = caught("raise ExceptionGroup('several', [AssertionError(), ValueError()])")

    assert ["AssertionError", "ValueError"] == [member.names[0] for member in described.members]


def test_what_hypothesis_says_of_itself_is_an_error():
    assert kind_of(group("assert 0", of=FlakyFailure)) == "error"
    assert kind_of(describe(FailedHealthCheck(), ROOT)) == "error"


def test_an_exception_that_was_never_raised_is_described():
    assert describe(ValueError("no"), ROOT) == Raised(("ValueError", "Exception", "BaseException", "object"))


raised = st.recursive(
    st.builds(
        Raised,
        names=st.sampled_from([("AssertionError",), ("ValueError",), ("TypeError",), ("Failed",)]),
        module=st.sampled_from(["tests.a", "instrument.b", "numpy.testing", "_pytest.outcomes", "library"]),
        own=st.booleans(),
        explicit=st.booleans(),
    ),
    lambda members: st.builds(
        Raised, names=st.just(("ExceptionGroup",)), members=st.lists(members, min_size=1).map(tuple)
    ),
    max_leaves=6,
)


@given(st.lists(raised, min_size=1))
def test_a_group_is_an_error_when_one_of_it_is(members):
    kinds = {kind_of(member) for member in members}

    assert ("error" in kinds) == (kind_of(Raised(("ExceptionGroup",), members=tuple(members))) == "error")
