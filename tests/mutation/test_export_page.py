"""One page that loads nothing and holds everything."""

import json
from html.parser import HTMLParser
from pathlib import Path

import pytest

import mutation.export
from tests.mutation.folder import cell, exported, fault, mixed, write


@pytest.fixture
def folder(tmp_path):
    return mixed(tmp_path / "out")


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
