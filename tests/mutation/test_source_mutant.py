"""What a mutant is called, what it changed, and how it ended."""

import pytest

from mutation.source.mutant import Change, Outcome, change_of, function_of, outcome_of

DIFF = """\
--- pkg/a.py
+++ pkg/a.py
@@ -1,4 +1,4 @@
 def f(a):
     b = 1
-    return  a + b
+    return  a - b
     c = 2
@@ -9,1 +9,2 @@
--a
++a
+b"""


@pytest.mark.parametrize("noticed", ["assert", "refusal"])
@pytest.mark.parametrize("exit_code", [0, 1, 3, -24, -9])
def test_a_judged_mutant_is_asserted_whatever_follows(noticed, exit_code):
    assert outcome_of(exit_code, ["error", noticed]) is Outcome.ASSERTED


@pytest.mark.parametrize(
    ("exit_code", "outcome"),
    [
        (1, Outcome.ERROR_ONLY),
        (3, Outcome.ERROR_ONLY),
        (0, Outcome.SURVIVED),
        (5, Outcome.NO_TESTS),
        (33, Outcome.NO_TESTS),
        (24, Outcome.TIMEOUT),
        (-24, Outcome.TIMEOUT),
        (36, Outcome.TIMEOUT),
        (152, Outcome.TIMEOUT),
        (255, Outcome.TIMEOUT),
        (-9, Outcome.CRASHED),
        (-11, Outcome.CRASHED),
        (4, Outcome.CRASHED),
        (None, Outcome.NOT_RUN),
        (2, Outcome.NOT_RUN),
    ],
)
def test_without_a_judgement_the_exit_code_tells(exit_code, outcome):
    assert outcome_of(exit_code, ["error"]) is outcome


@pytest.mark.parametrize(
    ("name", "function"),
    [
        ("pkg.a.x_f__mutmut_12", "pkg.a.f"),
        ("pkg.a.x__f__mutmut_1", "pkg.a._f"),
        ("pkg.a.x\u01c1C\u01c1__init____mutmut_3", "pkg.a.C.__init__"),
        ("pkg.a.x_x_f__mutmut_1", "pkg.a.x_f"),
        ("pkg.a.x_f__mutmut_1__mutmut_2", "pkg.a.f"),
    ],
)
def test_a_function_is_named_as_python_names_it(name, function):
    assert function_of(name) == function


def test_a_change_is_what_was_taken_out_and_what_was_put_in():
    expected = Change("pkg.a.f", "return a + b\n-a", "return a - b\n+a\nb")

    assert change_of("pkg.a.x_f__mutmut_1", DIFF) == expected
