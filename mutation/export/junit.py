"""JUnit XML: one suite for the faults, one for the tests."""

import re
from typing import Any
from xml.etree import ElementTree as ET


def junit(document: dict[str, Any]) -> str:
    """Write a campaign as continuous integration servers read it.

    A fault that is not accepted is a failure. So is a test that kills nothing without a reason; where the campaign
    stopped at first kills, every test is skipped, since it may not have had its chance.
    """
    root = ET.Element("testsuites", name="planted faults")
    faults = [fault_case(fault) for fault in document["faults"]]
    tests = [test_case(test) for test in document["tests"]]
    for name, cases in (("planted faults", faults), ("tests that must kill", tests)):
        counts = {word: str(sum(case.find(tag) is not None for case in cases)) for word, tag in TAGS.items()}
        suite = {"name": name, "tests": str(len(cases)), "errors": "0", **counts}
        ET.SubElement(root, "testsuite", suite).extend(cases)
    ET.indent(root)
    return ET.tostring(root, encoding="unicode", xml_declaration=False) + "\n"


TAGS = {"failures": "failure", "skipped": "skipped"}


def fault_case(fault: dict[str, Any]) -> ET.Element:
    """One fault as a test case."""
    case = ET.Element(
        "testcase", classname=f"planted.{fault['family']}", name=fault["name"], time=str(fault["seconds"])
    )
    told = f"{fault['status']}, effect {fault['effect']}"
    if not fault["accepted"]:
        ET.SubElement(case, "failure", message=legal(told), type=fault["status"]).text = legal(fault["note"])
    lines = [told, fault["mechanism"], fault["source"], fault["reason"], *fault["killers"]]
    ET.SubElement(case, "system-out").text = legal("\n".join(filter(None, lines)))
    return case


def test_case(test: dict[str, Any]) -> ET.Element:
    """One test as a test case."""
    where, _, name = test["id"].partition("::")
    classname = where.removesuffix(".py").replace("/", ".")
    case = ET.Element("testcase", classname=legal(classname), name=legal(name), time=str(test["seconds"] or 0))
    if test["idle"] is None:
        ET.SubElement(case, "skipped", message="only --mode matrix tells what a test kills")
    elif test["idle"] and not test["reason"]:
        ET.SubElement(case, "failure", message="kills nothing", type="idle")
    else:
        ET.SubElement(case, "system-out").text = legal("\n".join([*test["kills"], test["reason"]]).strip())
    return case


def legal(text: str) -> str:
    """Leave out the characters that XML 1.0 forbids, section 2.2, such as the escapes of coloured output."""
    return re.sub("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]", "", text)
