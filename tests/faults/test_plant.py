"""A fault reaches every caller while it is on, and leaves nothing behind."""

import inspect
import pickle
import traceback
from importlib.metadata import version

import pytest

from faults import CATALOGUE, Fault, counted, planted
from faults._seam import find
from tests.faults import zoo

every_fault = pytest.mark.parametrize("fault", CATALOGUE.values(), ids=CATALOGUE)
every_kind = pytest.mark.parametrize("name", zoo.CALLS)


def unchanged(original):
    return original


def marked(mark):
    """A patch that puts a mark beside what the original returns."""

    def patch(original):
        def broken(*args, **kwargs):
            return [mark, original(*args, **kwargs)]

        return broken

    return patch


def at(seam, patch=unchanged, library="pytest>=1"):
    """A fault of nothing but a seam and a patch."""
    return Fault(
        family="masks",
        library=library,
        seam=seam,
        source="https://example.org",
        year=2024,
        mechanism="It is only a test.",
        effect="closed_forms.aggregation:token_mean",
        quantity="weights",
        visible="trainer_accumulation",
        patch=patch,
    )


def in_zoo(name):
    return f"tests.faults.zoo:{name}"


def code_at(seam):
    return find(seam, "pytest").__code__


@every_kind
def test_the_original_is_what_it_was(name):
    before = zoo.CALLS[name](zoo.Zoo())

    with planted(at(in_zoo(name))):
        assert zoo.CALLS[name](zoo.Zoo()) == before


@pytest.mark.parametrize("name", [name for name in zoo.CALLS if name not in ("Zoo.wrapped", "Zoo.items")])
def test_every_caller_gets_the_broken_one(name):
    before = zoo.CALLS[name](zoo.Zoo())

    with planted(at(in_zoo(name), marked("broken"))):
        assert zoo.CALLS[name](zoo.Zoo()) == [["broken", value] for value in before]


def test_a_decorator_stays_around_the_broken_one():
    with planted(at(in_zoo("Zoo.wrapped"), marked("broken"))):
        assert zoo.Zoo().wrapped(2) == ["wrapped", ["broken", 12]]


def test_a_context_manager_is_found_under_its_decorator():
    def patch(original):
        def opened(self, x):
            yield x + 1

        return opened

    with planted(at(in_zoo("Zoo.opened"), patch)), zoo.Zoo().opened(1) as x:
        assert x == 2


@pytest.mark.parametrize("name", ["plain", "keyword"])
def test_a_patch_may_leave_defaults_to_the_original(name):
    before = getattr(zoo.Zoo(), name)(x=9)

    def patch(original):
        return lambda self, *args, **kwargs: original(self, x=9)

    with planted(at(in_zoo(f"Zoo.{name}"), patch)):
        assert getattr(zoo.Zoo(), name)(x=0) == before


def test_an_alias_taken_before_is_broken_too():
    alias, bound = zoo.free, zoo.Zoo().plain

    with planted(at(in_zoo("free"), marked("broken"))), planted(at(in_zoo("Zoo.plain"), marked("broken"))):
        assert [alias(3), bound(3)] == [["broken", 1], ["broken", 6]]


@every_kind
def test_kind_of_attribute_stays(name):
    owner, attribute = (zoo, name) if "." not in name else (zoo.Zoo, name.split(".")[1])
    before = inspect.getattr_static(owner, attribute)

    with planted(at(in_zoo(name), marked("broken"))):
        assert inspect.getattr_static(owner, attribute) is before


@every_kind
def test_signature_and_names_stay(name):
    def described():
        function = find(in_zoo(name), "pytest")
        code = function.__code__
        return [
            inspect.signature(function),
            inspect.getfullargspec(function),
            (function.__qualname__, code.co_name, code.co_qualname),
            (function.__defaults__, function.__kwdefaults__, function.__closure__, code.co_freevars),
            function.__dict__,
        ]

    before = described()

    with planted(at(in_zoo(name), marked("broken"))):
        assert described() == before


@every_kind
def test_code_is_the_same_object_afterwards(name):
    before = code_at(in_zoo(name))

    with planted(at(in_zoo(name), marked("broken"))):
        assert code_at(in_zoo(name)) is not before
    assert code_at(in_zoo(name)) is before


@every_fault
def test_every_fault_is_undone(fault):
    before = code_at(fault.seam)

    with planted(fault):
        assert code_at(fault.seam) is not before
    assert code_at(fault.seam) is before


@every_fault
def test_every_fault_is_undone_when_the_block_raises(fault):
    before = code_at(fault.seam)

    with pytest.raises(ZeroDivisionError), planted(fault):
        raise ZeroDivisionError
    assert code_at(fault.seam) is before


@every_fault
def test_every_fault_keeps_the_signature(fault):
    before = inspect.signature(find(fault.seam, fault.library))

    with planted(fault):
        assert inspect.signature(find(fault.seam, fault.library)) == before


def test_faults_on_one_seam_are_undone_last_in_first_out():
    seam = in_zoo("Zoo.plain")
    before = code_at(seam)

    with planted(at(seam, marked("outer"))):
        with planted(at(seam, marked("inner"))):
            assert zoo.Zoo().plain(1) == ["inner", ["outer", 2]]
        assert zoo.Zoo().plain(1) == ["outer", 2]
    assert code_at(seam) is before


def test_a_wrong_call_is_refused_as_before():
    with pytest.raises(TypeError) as before:
        zoo.Zoo().plain()

    with planted(at(in_zoo("Zoo.plain"))), pytest.raises(TypeError) as planted_one:
        zoo.Zoo().plain()
    assert str(planted_one.value) == str(before.value)


@every_kind
def test_a_traceback_names_the_seam(name):
    def patch(original):
        def broken(*args, **kwargs):
            raise ZeroDivisionError

        return broken

    with planted(at(in_zoo(name), patch)), pytest.raises(ZeroDivisionError) as caught:
        zoo.CALLS[name](zoo.Zoo())

    # With the locals of every frame: a debugger must be able to look into the swapped code.
    shown = traceback.TracebackException.from_exception(caught.value, capture_locals=True)
    assert f'"<fault at {in_zoo(name)}>", line 5, in {name.split(".")[-1]}' in "".join(shown.format())


def test_calls_are_counted():
    with planted(at(in_zoo("Zoo.plain"))) as hits:
        zoo.Zoo().plain(1)
        zoo.Zoo().plain(1)

    assert hits.count == 2


def test_a_seam_that_is_not_called_has_no_hits():
    with planted(at(in_zoo("Zoo.plain"))) as hits:
        zoo.Zoo().positional(1)

    assert hits.count == 0


def test_counting_changes_no_answer_and_counts_each_seam():
    calls = {in_zoo(name): call for name, call in zoo.CALLS.items()}
    before = [call(zoo.Zoo()) for call in calls.values()]

    with counted(calls) as counts:
        during = [call(zoo.Zoo()) for call in calls.values()]

    assert during == before
    assert dict(counts) == {seam: len(answers) for seam, answers in zip(calls, before, strict=True)}


def test_counting_is_undone_when_a_later_seam_is_missing():
    before = code_at(in_zoo("free"))

    with pytest.raises(LookupError, match="nope"), counted([in_zoo("free"), in_zoo("nope")]):
        raise AssertionError("the block must not run")
    assert code_at(in_zoo("free")) is before


def test_a_seam_that_is_not_reached_counts_zero():
    with counted([in_zoo("free")]) as counts:
        pass

    assert counts == {in_zoo("free"): 0}


@pytest.mark.parametrize(
    ("seam", "missing"),
    [
        ("transformers.trainer:Trainer.nope", "no 'nope' in <class 'transformers.trainer.Trainer'>"),
        ("transformers.trainer:Nope.log", "no 'Nope' in <module 'transformers.trainer'"),
        ("transformers.nope:f", "no module transformers.nope "),
        ("transformers.trainer:Trainer", "no Python function but <class 'transformers.trainer.Trainer'>"),
        ("transformers.trainer:logger", "no Python function but <Logger"),
    ],
)
def test_a_missing_seam_is_named_with_library_and_version(seam, missing):
    with pytest.raises(LookupError) as caught, planted(at(seam, library="transformers>=5")):
        raise AssertionError("the block must not run")

    message = str(caught.value)
    assert message.startswith(f"transformers>=5: transformers {version('transformers')} has {missing}")
    assert f" for the seam {seam}: " in message


def test_a_missing_library_is_named():
    with pytest.raises(LookupError, match=r"^not-there>=1: not-there is not installed, so has no module not_there "):
        with planted(at("not_there.part:f", library="not-there>=1")):
            raise AssertionError("the block must not run")


def test_a_function_can_be_pickled_while_it_is_broken():
    with planted(at(in_zoo("free"), marked("broken"))):
        assert pickle.loads(pickle.dumps(zoo.free)) is zoo.free
