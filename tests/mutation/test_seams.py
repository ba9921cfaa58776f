"""The code behind a seam is found without importing it."""

import subprocess
import sys

import pytest

from mutation.export.seams import places_of

SOURCE = '''"""A module."""

if True:

    class Outer:
        @staticmethod
        def inner(x):
            return x


def plain(x):
    return x
'''


@pytest.fixture
def package(tmp_path, monkeypatch):
    folder = tmp_path / "laid_out"
    folder.mkdir()
    (folder / "__init__.py").write_text("raise RuntimeError('imported')\n\n\ndef here():\n    pass\n")
    (folder / "deep.py").write_text(SOURCE)
    monkeypatch.syspath_prepend(tmp_path)


def piece(seam):
    place = places_of([seam])[seam]
    lines = place.source.splitlines()
    (first, left), (last, right) = place.start, place.end
    return place.name, [*lines[first - 1 : last - 1], lines[last - 1][: right - 1]], left


@pytest.mark.parametrize(
    ("seam", "found"),
    [
        ("laid_out.deep:plain", ("laid_out/deep.py", ["def plain(x):", "    return x"], 1)),
        ("laid_out.deep:Outer.inner", ("laid_out/deep.py", ["        def inner(x):", "            return x"], 9)),
        ("laid_out:here", ("laid_out/__init__.py", ["def here():", "    pass"], 1)),
    ],
)
def test_a_definition_is_cut_out_exactly(package, seam, found):
    assert found == piece(seam)


@pytest.mark.parametrize("seam", ["laid_out.deep:gone", "laid_out.deep:Outer.gone", "laid_out.deep:gone.inner"])
def test_a_definition_that_has_moved_is_placed_at_the_top(package, seam):
    place = places_of([seam])[seam]

    assert (SOURCE, (1, 1), (1, 1)) == (place.source, place.start, place.end)


@pytest.mark.parametrize("module", ["laid_out.gone", "nowhere", "nowhere.deep", "sys"])
def test_a_module_that_is_not_there_is_an_empty_file(package, module):
    place = places_of([f"{module}:f"])[f"{module}:f"]

    assert (module.replace(".", "/") + ".py", "") == (place.name, place.source)


@pytest.mark.spawn
def test_a_library_is_not_imported():
    asked = "places_of(['transformers.trainer:Trainer.log'])['transformers.trainer:Trainer.log'].start != (1, 1)"
    program = f"import sys; from mutation.export.seams import places_of; print({asked}, 'transformers' in sys.modules)"

    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)

    assert "True False" == done.stdout.strip()
