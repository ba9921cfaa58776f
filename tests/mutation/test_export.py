"""What a campaign's folder is turned into, file by file."""

import json
from html.parser import HTMLParser
from pathlib import Path
from xml.etree import ElementTree as ET

import jsonschema
import pytest

import mutation.export
from faults import CATALOGUE
from mutation.expectations import Expectations, Expected
from mutation.export.folder import export
from mutation.status import Effect, Status
from tests.mutation.folder import cell, fault, write

NOTHING = Expectations({}, {})
TESTS = ["a/test_x.py::test_kills[1-2]", "a/test_x.py::test_idle", "b/test_y.py::test_kills_too"]
UGLY = "call: AssertionError: \x1b[31m1 < 2\x1b[0m & \ud800 </script><script>alert('x')</script>\n  second line"


@pytest.fixture
def folder(tmp_path):
    faults = {
        "wrong": fault(killers=[TESTS[0], TESTS[2]]),
        "missed": fault("toy.deep:missed", status="survived", note="it was \x00 quiet"),
        "lost": fault("other:lost", status="crash only", effect="mismatched"),
        "once": fault(status="flaky", unconfirmed=[TESTS[0]]),
        "same": fault(status="equivalent"),
        "gone": fault(status="stale", effect="missing"),
    }
    cells = [
        *(cell("baseline", test, part="full") for test in TESTS),
        cell("wrong", TESTS[0], "assert", message=UGLY),
        cell("wrong", TESTS[1]),
        cell("wrong", TESTS[2], "refusal"),
        cell("missed", TESTS[0]),
        cell("missed", TESTS[1], "skipped"),
        cell("lost", TESTS[0], "crash", message="the process ended with 9"),
        cell("once", TESTS[0], "assert"),
    ]
    return write(tmp_path / "out", faults, TESTS, cells)


def exported(folder, expectations=NOTHING, catalogue=()):
    return export(folder, dict(catalogue), expectations)


def read(folder, name):
    return json.loads((folder / name).read_text())


def fault_of(document, name):
    return next(entry for entry in document["faults"] if entry["name"] == name)


def test_the_four_files_lie_beside_the_cells(folder):
    exported(folder)

    assert {"cells.jsonl", "summary.json", "matrix.json", "matrix.html", "junit.xml", "elements.json"} == {
        file.name for file in folder.iterdir()
    }


@pytest.fixture
def schema():
    return json.loads(Path(mutation.export.__file__).with_name("matrix.schema.json").read_text())


def test_the_schema_is_one(schema):
    jsonschema.Draft202012Validator.check_schema(schema)


@pytest.mark.parametrize("mode", ["first", "matrix"])
def test_the_matrix_is_what_its_schema_says(folder, schema, mode):
    summary = read(folder, "summary.json")
    (folder / "summary.json").write_text(json.dumps(summary | {"mode": mode}))
    exported(folder)

    jsonschema.validate(read(folder, "matrix.json"), schema)


def test_the_schema_knows_no_other_field(folder, schema):
    exported(folder)

    with pytest.raises(jsonschema.ValidationError, match="'more'"):
        jsonschema.validate(read(folder, "matrix.json") | {"more": 1}, schema)


def test_every_object_of_the_schema_is_closed(schema):
    objects = [schema, *schema["$defs"].values(), schema["$defs"]["fault"]["properties"]["cells"]["items"]]
    listed = [each for each in objects if "properties" in each]

    assert 5 == len(listed)
    assert [] == [each for each in listed if set(each["required"]) != set(each["properties"])]
    assert [] == [each for each in listed if each["additionalProperties"] is not False]


def test_the_schema_names_every_status(schema):
    assert {str(status) for status in Status} == set(schema["$defs"]["status"]["enum"])


def test_the_schema_names_every_effect(schema):
    assert {str(effect) for effect in Effect} == set(schema["$defs"]["fault"]["properties"]["effect"]["enum"])


def test_the_tests_of_another_project_need_not_kill(folder):
    write(folder, {"wrong": fault(killers=TESTS[:1], effect="not asked") | {"accepted": True}}, TESTS)

    document = exported(folder, Expectations({}, {"ours.py::*": "why"}))

    assert document["passed"]
    assert TESTS[1:] == document["analysis"]["idle"]


def test_survivors_come_first_and_kills_last(folder):
    order = [entry["name"] for entry in exported(folder)["faults"]]

    assert ["missed", "once", "lost", "gone", "wrong", "same"] == order


def test_faults_are_folded_by_the_library_of_their_seam(folder):
    assert {"toy", "other"} == {entry["family"] for entry in exported(folder)["faults"]}


def test_a_cell_says_how_its_test_failed_and_whether_twice(folder):
    document = exported(folder)

    assert {"test": 0, "kind": "assert", "confirmed": True, "message": UGLY, "seconds": 0.5} in fault_of(
        document, "wrong"
    )["cells"]
    assert [False] == [each["confirmed"] for each in fault_of(document, "once")["cells"]]


def test_a_passing_test_is_named_by_its_place(folder):
    assert [1] == fault_of(exported(folder), "wrong")["passed"]


def test_each_test_is_told_what_it_does(folder):
    first, idle, other = exported(folder)["tests"]

    assert (["wrong"], [], False, 0.5, ["toy:wrong"]) == tuple(
        first[field] for field in ("kills", "unique", "idle", "seconds", "seams")
    )
    assert ([], True) == (idle["kills"], idle["idle"])
    assert "b/test_y.py" == other["file"]


def test_the_catalogue_tells_the_mechanism(folder):
    (name, planted), *_ = CATALOGUE.items()
    write(folder, {name: fault()}, TESTS)

    document = export(folder, {name: planted}, NOTHING)

    assert planted.mechanism == document["faults"][0]["mechanism"]


def test_without_the_whole_catalogue_nothing_is_said_of_tests(folder):
    document = exported(folder, catalogue={"not run": None})

    assert document["analysis"] is None
    assert [None] * 3 == [test["idle"] for test in document["tests"]]
    assert [] == [problem for problem in document["problems"] if "kills nothing" in problem]


def test_after_first_kills_nothing_is_said_of_tests(folder):
    (folder / "summary.json").write_text(json.dumps(read(folder, "summary.json") | {"mode": "first"}))

    assert exported(folder)["analysis"] is None


def test_a_campaign_that_may_pass_passes(folder):
    write(folder, {"wrong": fault(killers=TESTS)}, TESTS)

    assert (True, []) == (exported(folder)["passed"], exported(folder)["problems"])


def test_a_fault_that_ends_as_expected_is_accepted_with_its_reason(folder):
    entry = fault_of(exported(folder, Expectations({"missed": Expected(Status.SURVIVED, "why")}, {})), "missed")

    assert (True, "why") == (entry["accepted"], entry["reason"])


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


@pytest.fixture
def elements(folder):
    exported(folder)
    return read(folder, "elements.json")


@pytest.fixture
def mutants(elements):
    return {mutant["id"]: mutant for file in elements["files"].values() for mutant in file["mutants"]}


def test_the_version_is_the_one_that_viewers_read(elements):
    assert "2.0" == elements["schemaVersion"]


def test_each_status_has_a_state_of_the_schema(mutants):
    states = {name: mutant["status"] for name, mutant in mutants.items()}

    assert {
        "wrong": "Killed",
        "missed": "Survived",
        "lost": "RuntimeError",
        "once": "Survived",
        "same": "Ignored",
        "gone": "Pending",
    } == states


def test_killers_and_what_ran_are_tests_of_the_report(elements, mutants):
    ids = {test["id"] for file in elements["testFiles"].values() for test in file["tests"]}

    assert set(TESTS) == ids
    assert [TESTS[0], TESTS[2]] == mutants["wrong"]["killedBy"]
    assert TESTS == mutants["wrong"]["coveredBy"]
    assert 3 == mutants["wrong"]["testsCompleted"]


def test_the_reason_tells_the_failing_assertion(mutants):
    assert UGLY in mutants["wrong"]["statusReason"]


def test_faults_stand_in_the_file_of_their_seam(elements):
    assert {"toy.py", "toy/deep.py", "other.py"} == set(elements["files"])


class Page(HTMLParser):
    """Collects what a page would load, and the text of its scripts."""

    def __init__(self, text):
        super().__init__()
        self.loads, self.scripts, self.count, self.inside = [], [], 0, False
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.count += 1
        self.loads += [value for name, value in attrs if name in ("src", "href", "srcset", "data", "action")]
        self.inside = tag == "script"

    def handle_data(self, data):
        if self.inside:
            self.scripts.append(data)
        self.inside = False


@pytest.fixture
def page(folder):
    document = exported(folder)
    return Page((folder / "matrix.html").read_text()), document


def test_the_page_loads_nothing(page):
    assert [] == page[0].loads


def test_the_page_carries_the_document_whatever_is_in_it(page):
    assert page[1] == json.loads(page[0].scripts[0])


def test_the_page_carries_its_scripts(page):
    files = list((Path(mutation.export.__file__).parent / "page").glob("*.js"))

    assert files
    assert [] == [file.name for file in files if file.read_text().strip() not in page[0].scripts[1]]


def test_the_page_holds_no_cell_as_an_element(folder):
    exported(folder)
    small = Page((folder / "matrix.html").read_text()).count
    names = [f"t.py::test_{number}" for number in range(200)]
    write(folder, {"wrong": fault(killers=names)}, names, [cell("wrong", name, "assert") for name in names])
    exported(folder)

    assert Page((folder / "matrix.html").read_text()).count <= small
