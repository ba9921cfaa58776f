"""An earlier verdict is kept only while everything that it rests on is as it was."""

import pytest

from mutation.source.settings import Settings, is_mutated, mutated_files, read_settings
from mutation.source.stamp import Stamp, reuse, take_stamp

SETTINGS = Settings(["pkg"], only=["pkg/rules/*"], never=["*/__init__.py"], beside=["data"])
FILES = ["pyproject.toml", "constraints.txt", "conftest.py", "tests/test_a.py", "tests/data.txt", "data/x.txt"]
CODE = ["pkg/__init__.py", "pkg/a.py", "pkg/rules/__init__.py", "pkg/rules/b.py", "pkg/rules/c.py"]
BUT = "pkg/list.toml"


@pytest.fixture
def project(tmp_path):
    for name in [*FILES, *CODE, BUT, "notes.txt"]:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(f"{name}\n")
    return tmp_path


def stamp(project, **versions):
    return take_stamp(project, SETTINGS, versions, project / BUT)


def test_mutated_files_are_those_that_mutmut_mutates(project):
    assert ["pkg/rules/b.py", "pkg/rules/c.py"] == mutated_files(project, SETTINGS)
    assert ["pkg/a.py", "pkg/rules/b.py", "pkg/rules/c.py"] == mutated_files(
        project, Settings(["pkg"], never=["*/__init__.py"])
    )


def test_only_code_is_mutated():
    assert not is_mutated("pkg/rules/b.txt", SETTINGS)
    assert is_mutated("pkg/rules/b.py", SETTINGS)


def test_settings_are_those_of_mutmut(project):
    (project / "pyproject.toml").write_text(
        "[tool.mutmut]\nsource_paths = ['pkg']\nonly_mutate = ['pkg/rules/*']\ndo_not_mutate = ['*/__init__.py']\n"
        "also_copy = ['data']\n"
    )

    assert SETTINGS == read_settings(project)


def test_settings_that_are_left_out_are_empty(project):
    (project / "pyproject.toml").write_text("[tool.mutmut]\nsource_paths = ['pkg']\n")

    assert Settings(["pkg"], [], [], []) == read_settings(project)


@pytest.mark.parametrize("section", ["", "[tool.other]\na = 1\n", "[tool.mutmut]\nonly_mutate = ['a']\n"])
def test_settings_without_source_paths_are_refused(project, section):
    (project / "pyproject.toml").write_text(section)

    with pytest.raises(ValueError, match="no source_paths"):
        read_settings(project)


def test_a_folder_without_a_project_file_is_refused(tmp_path):
    with pytest.raises(ValueError, match=r"holds no pyproject\.toml: run the command at the top of a project$"):
        read_settings(tmp_path)


def test_a_stamp_is_the_same_twice(project):
    assert stamp(project, pytest="9") == stamp(project, pytest="9")


@pytest.mark.parametrize("name", [*FILES, "pkg/__init__.py", "pkg/a.py", "pkg/rules/__init__.py"])
def test_an_edit_of_what_is_not_mutated_moves_the_surroundings(project, name):
    before = stamp(project)
    (project / name).write_text("other")

    assert before.around != stamp(project).around
    assert before.modules == stamp(project).modules


@pytest.mark.parametrize("name", ["tests/test_new.py", "pkg/new.py", "tests/deep/er.json"])
def test_a_new_file_moves_the_surroundings(project, name):
    before = stamp(project)
    (project / name).parent.mkdir(exist_ok=True)
    (project / name).write_text("")

    assert before.around != stamp(project).around


def test_a_renamed_file_moves_the_surroundings(project):
    before = stamp(project)
    (project / "tests" / "test_a.py").rename(project / "tests" / "test_b.py")

    assert before.around != stamp(project).around


def test_versions_move_the_surroundings(project):
    assert stamp(project, pytest="9").around != stamp(project, pytest="8").around


@pytest.mark.parametrize("name", [BUT, "notes.txt", "tests/cache.pyc", "tests/.hypothesis/examples"])
def test_what_decides_no_verdict_moves_nothing(project, name):
    before = stamp(project)
    (project / name).parent.mkdir(exist_ok=True)
    (project / name).write_text("other")

    assert before == stamp(project)


def test_an_edit_of_a_mutated_file_moves_that_module_alone(project):
    before = stamp(project)
    (project / "pkg/rules/b.py").write_text("other")
    after = stamp(project)

    assert before.around == after.around
    assert ["pkg/rules/b.py"] == [name for name in CODE if before.modules.get(name) != after.modules.get(name)]


BEFORE = Stamp("around", {"a.py": "1", "b.py": "2"})
UNCHANGED = Stamp("around", {"a.py": "1", "b.py": "2"})
OTHER_TESTS = Stamp("other", {"a.py": "1", "b.py": "2"})
EDITED = Stamp("around", {"a.py": "1", "b.py": "3", "c.py": "4"})
REMOVED = Stamp("around", {"a.py": "1"})


@pytest.mark.parametrize(
    ("old", "new", "changed_only", "told"),
    [
        (None, BEFORE, False, "no earlier run"),
        (None, BEFORE, True, "no earlier run"),
        (BEFORE, OTHER_TESTS, False, "tests, settings, versions"),
        (BEFORE, OTHER_TESTS, True, "tests, settings, versions"),
        (BEFORE, EDITED, False, "2 of 3 modules have changed"),
        (BEFORE, REMOVED, False, "1 of 2 modules have changed"),
    ],
)
def test_a_run_starts_from_nothing(old, new, changed_only, told):
    how = reuse(old, new, changed_only)

    assert how.fresh
    assert () == how.again
    assert told in how.why


@pytest.mark.parametrize("changed_only", [True, False])
def test_an_unfinished_run_is_continued_where_nothing_changed(changed_only):
    how = reuse(BEFORE, UNCHANGED, changed_only)

    assert not how.fresh
    assert () == how.again
    assert "nothing has changed" in how.why


def test_only_what_changed_is_run_again_on_request():
    how = reuse(BEFORE, EDITED, changed_only=True)

    assert not how.fresh
    assert ("b.py", "c.py") == how.again
    assert "only b.py, c.py changed" in how.why


def test_a_module_that_is_gone_is_removed_on_request():
    assert ("b.py",) == reuse(BEFORE, REMOVED, changed_only=True).again
