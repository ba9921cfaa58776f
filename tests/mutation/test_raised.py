"""Which exceptions are a test's own verdict, which are a refusal, and which are accidents."""

import multiprocessing
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.errors import FailedHealthCheck, FlakyFailure

from mutation.raised import Raised, describe, kind_of, read_off

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


def rank(source):
    """Run in a rank of torch.multiprocessing, from a file of the project."""
    exec(compile(source, str(ROOT / "tests" / "example.py"), "exec"), {"__name__": "tests.example"})


def start(rank_number, source):
    """What torch.multiprocessing starts."""
    rank(source)


def raised_in_a_rank(source):
    from torch.multiprocessing import start_processes

    with pytest.raises(Exception, match="terminated with the following error") as info:
        start_processes(start, args=(source,), nprocs=1, start_method="fork")
    return describe(info.value, ROOT)


def raised_in_a_pool(source):
    with multiprocessing.get_context("fork").Pool(1) as pool, pytest.raises(Exception) as info:
        pool.map(rank, [source])
    return describe(info.value, ROOT)


def raised_in_an_executor(source):
    context = multiprocessing.get_context("fork")
    with ProcessPoolExecutor(1, mp_context=context) as pool, pytest.raises(Exception) as info:
        pool.submit(rank, source).result()
    return describe(info.value, ROOT)


@pytest.mark.parametrize("started", [raised_in_a_rank, raised_in_a_pool, raised_in_an_executor])
@pytest.mark.parametrize(
    ("source", "kind"),
    [
        ("assert 1 == 2", "assert"),
        ("assert 1 == 2, 'two\\nlines'", "assert"),
        ("import numpy; numpy.testing.assert_allclose(1, 2)", "assert"),
        ("1 + '1'", "error"),
        ("raise ValueError('what')", "error"),
    ],
)
def test_what_another_process_raised_counts_as_if_it_were_raised_here(started, source, kind):
    assert kind_of(started(source)) == kind


@pytest.mark.parametrize(
    ("file", "line", "kind"),
    [
        ("instrument/readout.py", "raise ValueError(", "refusal"),
        ("instrument/readout.py", "int(x)", "error"),
        ("tests/example.py", "raise ValueError(", "error"),
        (".venv/lib/site-packages/instrument/readout.py", "raise ValueError(", "refusal"),
        (".venv/lib/site-packages/torch/nn/modules.py", "raise ValueError(", "error"),
    ],
)
def test_a_refusal_in_another_process_is_one(file, line, kind):
    told = f'Traceback (most recent call last):\n  File "{ROOT / file}", line 3, in f\n    {line}\nValueError: no\n'

    assert kind_of(read_off(told, ROOT)) == kind


@pytest.mark.parametrize(
    ("file", "kind"),
    [
        ("accelerate/test_utils/scripts/test_sync.py", "assert"),
        ("torch/testing/_comparison.py", "assert"),
        ("torch/nn/modules.py", "error"),
    ],
)
def test_an_assertion_in_another_process_is_one_where_it_serves_tests(file, kind):
    told = f'  File "/env/site-packages/{file}", line 3, in f\n    assert x\n           ^\nAssertionError\n'

    assert kind_of(read_off(told, ROOT)) == kind


def test_a_traceback_that_cannot_be_read_is_an_accident():
    assert kind_of(read_off("nothing", ROOT)) == "error"


def test_of_chained_tracebacks_the_last_counts():
    first, last = (
        f'Traceback (most recent call last):\n  File "{ROOT}/tests/a.py", line 3, in f\n    {line}\n{name}: no\n'
        for line, name in (("1 + x", "TypeError"), ("assert x", "AssertionError"))
    )

    assert kind_of(read_off(f"{first}\n{last}", ROOT)) == "assert"
