"""The atlas as JSON that a sweep resumes from, and as one HTML file."""

import json
import re

import pytest

from instrument.atlas import as_json, page, repro
from instrument.atlas.cell import DEVIATES, NO_READING, NOT_APPLICABLE, OK, Cell, Result
from instrument.atlas.checks import all_checks


def results():
    """One architecture that answered everything in each way, and one that was not built."""
    names = [check.name for check in all_checks()]
    answers = (Cell(OK, 0.0, "none"), Cell(DEVIATES, 0.25, "<b> & leak"), Cell(NOT_APPLICABLE, None, "no such thing"))
    cells = {name: answers[i % 3] for i, name in enumerate(names)}
    tails = {name: f"import a{i % 2}\n\nlast('</script>', {i % 2})\n" for i, name in enumerate(names)}
    built = Result("llama", "", "LlamaForCausalLM", 7, {"vocab_size": 97}, tails, cells, 1.5)
    return [built, Result("broken", "ValueError: <i>")]


def test_what_is_written_is_read_again(tmp_path):
    as_json.write(tmp_path / "atlas.json", results())

    assert sorted(results(), key=lambda r: r.name) == as_json.read(tmp_path / "atlas.json")
    assert ["atlas.json"] == [file.name for file in tmp_path.iterdir()]


@pytest.mark.parametrize(("what", "key"), [("versions", "transformers"), ("checks", "targets")])
def test_a_sweep_of_other_versions_or_checks_is_not_gone_on_with(tmp_path, what, key):
    file = tmp_path / "atlas.json"
    file.write_text(json.dumps({**as_json.document(results()), what: {**as_json.document([])[what], key: "4"}}))

    with pytest.raises(ValueError, match=rf"was measured with other {what} \({key}\): leave out --resume"):
        as_json.read(file)


def test_another_file_is_not_taken_for_an_atlas(tmp_path):
    (tmp_path / "other.json").write_text("[]")

    with pytest.raises(ValueError, match=r"other\.json holds no atlas"):
        as_json.read(tmp_path / "other.json")


def test_the_page_shows_every_cell_and_loads_nothing():
    text = page.page(results())

    counts = {status: text.count(f'data-status="{status}"\n') for status in (OK, DEVIATES, NOT_APPLICABLE, NO_READING)}
    assert {OK: 5, DEVIATES: 5, NOT_APPLICABLE: 5, NO_READING: 0} == counts
    assert "1 of 2 built, 1 conclusive on every check" in re.sub(r"\s+", " ", text)
    assert "not built: ValueError: &lt;i&gt;" in text
    assert not re.search(r"https?:|src=|@import|url\(", text)


def test_text_of_a_library_cannot_break_out_of_the_page():
    text = page.page(results())

    assert 1 == text.count("</script>")
    assert "<b>" not in text


def test_the_page_holds_each_script_in_two_parts_that_make_it_up():
    embedded = page.scripts(results())
    own = embedded["architectures"]["llama"]

    assert 2 == len(embedded["tails"])
    for check, number in own["tails"].items():
        tail = embedded["tails"][number]
        imports, config = own["config"].split("\n\n\n")
        cut = tail.index("\n\n")
        whole = f"{imports}\n{tail[:cut]}\n\n{config}{tail[cut + 2 :]}"
        assert repro.script("llama", {"vocab_size": 97}, results()[0].tails[check]) == whole
