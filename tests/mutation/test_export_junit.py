"""A case for each fault and for each test that must kill."""

import json
from xml.etree import ElementTree as ET

import pytest

from mutation.expectations import Expectations
from tests.mutation.folder import NOTHING, exported, mixed, read


@pytest.fixture
def folder(tmp_path):
    return mixed(tmp_path / "out")


@pytest.fixture
def suites(folder):
    def suites(expectations=NOTHING):
        exported(folder, expectations)
        return ET.parse(folder / "junit.xml").getroot().findall("testsuite")

    return suites


def failures(suite):
    return {case.get("name"): case.find("failure").get("message") for case in suite if case.find("failure") is not None}


def test_each_fault_that_is_not_accepted_fails_with_its_status(suites):
    assert {
        "missed": "survived, effect matched",
        "once": "flaky, effect matched",
        "lost": "crash only, effect mismatched",
        "gone": "stale, effect missing",
    } == failures(suites()[0])


def test_a_test_that_kills_nothing_fails(suites):
    assert {"test_idle": "kills nothing"} == failures(suites()[1])


def test_a_test_with_a_reason_does_not_fail(suites):
    _, tests = suites(Expectations({}, {"*idle": "it guards"}))

    assert {} == failures(tests)
    assert "it guards" in "".join(tests.itertext())


def test_a_test_that_had_no_chance_is_skipped(folder, suites):
    (folder / "summary.json").write_text(json.dumps(read(folder, "summary.json") | {"mode": "first"}))
    _, tests = suites()

    assert ("3", "0") == (tests.get("skipped"), tests.get("failures"))


def test_the_suites_count_their_cases(suites):
    faults, tests = suites()

    assert ("6", "4", "0") == (faults.get("tests"), faults.get("failures"), faults.get("skipped"))
    assert ("3", "1", "0") == (tests.get("tests"), tests.get("failures"), tests.get("skipped"))


def test_a_note_that_xml_cannot_hold_loses_only_that(suites):
    assert "it was  quiet" in [case.findtext("failure") for case in suites()[0]]
