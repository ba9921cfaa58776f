"""When a run says nothing, and what it says otherwise."""

import pytest

from mutation.source.mutant import Change, Mutant, Outcome
from mutation.source.result import is_canary, matches, refuse_void, settle, spell

LIVES = Mutant("pkg.canary.x_survives__mutmut_1", "pkg/canary.py", Outcome.SURVIVED, {})
DIES = Mutant("pkg.canary.x_dies__mutmut_1", "pkg/canary.py", Outcome.ASSERTED, {})


def mutant(number, outcome=Outcome.ASSERTED, module="a"):
    return Mutant(f"pkg.{module}.x_f__mutmut_{number}", f"pkg/{module}.py", outcome, {})


def ending(canary, outcome):
    return Mutant(canary.name, canary.path, outcome, {})


def test_a_run_with_both_canaries_as_meant_is_not_void():
    sound = [LIVES, DIES, mutant(1), mutant(2, Outcome.TIMEOUT), mutant(3, Outcome.SURVIVED, "b")]
    refuse_void(sound)

    with pytest.raises(RuntimeError):
        refuse_void([DIES, *sound[2:]])


@pytest.mark.parametrize(
    ("mutants", "told"),
    [
        ([DIES, mutant(1)], r"no mutant of canary\.survives"),
        ([LIVES, mutant(1)], r"no mutant of canary\.dies"),
        (
            [ending(LIVES, Outcome.ASSERTED), DIES, mutant(1)],
            r"canary\.survives ended as .*asserted.* must be survived",
        ),
        ([LIVES, ending(DIES, Outcome.ERROR_ONLY), mutant(1)], r"canary\.dies ended as .*error only.* be asserted"),
        ([LIVES, DIES, ending(DIES, Outcome.TIMEOUT), mutant(1)], r"canary\.dies ended as .*timeout"),
        ([LIVES, DIES], "no mutant to score"),
        ([LIVES, DIES, mutant(1), mutant(2, Outcome.NOT_RUN)], r"1 mutants were not run, pkg\.a\.x_f__mutmut_2 first"),
        ([LIVES, DIES, mutant(1), mutant(2, Outcome.TIMEOUT, "b")], r"all 1 mutants of pkg/b\.py timed out"),
    ],
)
def test_a_void_run_is_refused(mutants, told):
    with pytest.raises(RuntimeError, match=told):
        refuse_void(mutants)


def test_only_a_module_named_canary_holds_canaries():
    assert is_canary(LIVES.name)
    assert not is_canary("pkg.a.x_canary__mutmut_1")
    assert not is_canary("canary.a.x_f__mutmut_1")


def test_no_pattern_fits_every_name():
    assert matches("a", [])


def test_one_of_several_patterns_is_enough():
    assert matches("pkg.a.x_f__mutmut_1", ["other*", "pkg.a*"])
    assert not matches("pkg.a.x_f__mutmut_1", ["other*", "a*"])


@pytest.mark.parametrize(
    ("asked", "pattern"),
    [("pkg.a", "pkg.a*"), ("pkg.*.x_f*", "pkg.*.x_f*"), ("pkg.a.x_f__mutmut_1", "pkg.a.x_f__mutmut_1")],
)
def test_a_module_stands_for_all_mutants_below_it(asked, pattern):
    assert spell(asked) == pattern


def test_a_result_counts_by_module_in_order():
    result = settle([mutant(2, module="b"), mutant(2), mutant(1, Outcome.ERROR_ONLY)], {}, [])

    assert ["pkg/a.py", "pkg/b.py"] == list(result.modules())
    assert {Outcome.ASSERTED: 1, Outcome.ERROR_ONLY: 1} == result.modules()["pkg/a.py"]
    assert [mutant(1).name, mutant(2).name, mutant(2, module="b").name] == [each.name for each in result.mutants]
    assert [] == list(result.wrong)


def test_what_nobody_noticed_is_open():
    result = settle([mutant(number, outcome) for number, outcome in enumerate(Outcome)], {}, [])
    fine = {Outcome.ASSERTED, Outcome.ERROR_ONLY, Outcome.EQUIVALENT}

    assert set(Outcome) - fine == {each.outcome for each in result.open_ones()}


def test_a_declared_survivor_is_set_apart_and_not_scored():
    change = Change("pkg.a.f", "old", "new")
    ran = [mutant(1), mutant(2, Outcome.SURVIVED)]
    result = settle(ran, {mutant(2).name: change}, [change])

    assert [Outcome.ASSERTED, Outcome.EQUIVALENT] == [each.outcome for each in result.mutants]
    assert [] == list(result.wrong)


def test_a_stale_entry_and_low_scores_are_both_wrong():
    result = settle([mutant(1, Outcome.SURVIVED)], {}, [Change("pkg.a.g", "old", "new")])

    assert ["no such mutant", "raw score is", "assertion score is", "raw score of pkg/a.py"] == [
        part
        for part, sentence in zip(
            ["no such mutant", "raw score is", "assertion score is", "raw score of pkg/a.py"], result.wrong, strict=True
        )
        if part in sentence
    ]
