"""The report that the viewers of the Stryker family read.

Schema 2 of mutation-testing-elements, packages/report-schema, at
https://github.com/stryker-mutator/mutation-testing-elements. Its score is not ours: it counts a timeout as noticed and
leaves errors out.
"""

from typing import Any

from mutation.export.seams import Place, places_of
from mutation.status import Status


def elements(document: dict[str, Any]) -> dict[str, Any]:
    """Turn a campaign into files with mutants in them; a file is named as it is imported."""
    places = places_of({fault["seam"] for fault in document["faults"]})
    ids = [test["id"] for test in document["tests"]]
    files: dict[str, Any] = {}
    for fault in document["faults"]:
        place = places[fault["seam"]]
        file = files.setdefault(place.name, {"language": "python", "source": place.source, "mutants": []})
        file["mutants"].append(mutant(fault, place, ids))
    return {
        "schemaVersion": "2.0",
        "thresholds": {"high": 100, "low": 100},
        "files": files,
        "testFiles": test_files(ids),
        "framework": {"name": "weighbridge, planted faults", "dependencies": document["versions"]},
    }


def mutant(fault: dict[str, Any], place: Place, ids: list[str]) -> dict[str, Any]:
    """One fault as a mutant of the function that it replaces."""
    ran = sorted([*fault["passed"], *(cell["test"] for cell in fault["cells"])])
    said = [f"{ids[cell['test']]}: {cell['message']}" for cell in fault["cells"] if cell["message"]]
    told = [f"{fault['status']}, effect {fault['effect']}", fault["reason"], fault["note"], *said]
    return {
        "id": fault["name"],
        "mutatorName": f"planted in {fault['family']}",
        "description": fault["mechanism"] or fault["seam"],
        "location": {"start": position(*place.start), "end": position(*place.end)},
        "status": state(Status(fault["status"])),
        "statusReason": "\n".join(filter(None, told)),
        "killedBy": fault["killers"],
        "coveredBy": [ids[number] for number in ran],
        "testsCompleted": len(ran),
        "duration": round(1000 * fault["seconds"]),
    }


def position(line: int, column: int) -> dict[str, int]:
    """A position as the schema wants it."""
    return {"line": line, "column": column}


def state(status: Status) -> str:
    """The nearest of the states that the schema knows; what was never decided is pending."""
    return {
        Status.KILLED: "Killed",
        Status.SURVIVED: "Survived",
        Status.EQUIVALENT: "Ignored",
        Status.NOT_REACHED: "NoCoverage",
        Status.ERROR_ONLY: "RuntimeError",
        Status.CRASH_ONLY: "RuntimeError",
        Status.TIMEOUT_ONLY: "Timeout",
        Status.UNCOLLECTED_ONLY: "CompileError",
        Status.FLAKY: "Survived",
        Status.STALE: "Pending",
        Status.HARNESS: "Pending",
    }[status]


def test_files(ids: list[str]) -> dict[str, Any]:
    """The tests by file."""
    files: dict[str, Any] = {}
    for test in ids:
        file, _, name = test.partition("::")
        files.setdefault(file, {"tests": []})["tests"].append({"id": test, "name": name})
    return files
