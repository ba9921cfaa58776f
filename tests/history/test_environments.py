"""Which releases are pinned, and how the cache is kept."""

import threading

import pytest
from packaging.version import Version

from instrument.history import environments


@pytest.mark.parametrize("library", ["transformers"])
def test_pinned_releases_stand_oldest_first(library):
    releases = [Version(release) for release in environments.pins(library)]

    assert releases == sorted(releases)
    assert len(releases) >= 12


def test_a_version_stands_for_all_releases_that_start_with_it():
    chosen = environments.chosen("transformers", "4.46,5.24.0")

    assert list(chosen) == ["4.46.0", "4.46.1", "4.46.3", "5.24.0"]


def test_a_release_without_pins_is_refused():
    with pytest.raises(LookupError, match=r"'4\.4'"):
        environments.chosen("transformers", "4.4")


def test_a_library_without_pins_is_refused():
    with pytest.raises(LookupError, match="nothing"):
        environments.pins("nothing")


def test_other_pins_are_another_environment():
    one, other = (environments.key("transformers", "5.0.0", {"accelerate": v}) for v in ("1.0", "1.1"))

    assert one != other


def test_what_torch_asks_for_is_shared_and_no_training_library_is():
    shared = environments.needed(["torch"])

    assert {"torch", "sympy"} <= shared
    assert not {"transformers", "accelerate", "trl", "peft"} & shared


def test_pyarrow_lies_below_the_prefix_of_an_environment(tmp_path):
    site = tmp_path / "one" / "lib" / "python3.11" / "site-packages"
    site.mkdir(parents=True)
    (tmp_path / "shared" / "pyarrow").mkdir(parents=True)

    environments.lend_pyarrow(tmp_path, tmp_path / "one")
    environments.lend_pyarrow(tmp_path, tmp_path / "one")

    assert (site / "pyarrow").resolve() == tmp_path / "shared" / "pyarrow"


def test_clean_removes_what_begin_made_and_follows_no_link(tmp_path):
    cache = tmp_path / "cache"
    environments.begin(cache)
    (cache / "file").write_bytes(b"12345")

    assert environments.clean(cache) == 5
    assert not cache.exists()
    assert environments.needed(["torch"])


def test_clean_leaves_a_folder_of_somebody_else(tmp_path):
    (tmp_path / "mine").write_text("x")

    with pytest.raises(LookupError, match="was not made by this command"):
        environments.clean(tmp_path)

    assert (tmp_path / "mine").exists()


def test_the_second_to_ask_waits_for_the_lock(tmp_path):
    order = []

    def second():
        with environments.locked(tmp_path / "cache"):
            order.append("second")

    with environments.locked(tmp_path / "cache"):
        waiting = threading.Thread(target=second)
        waiting.start()
        waiting.join(0.3)
        order.append("first")
    waiting.join()

    assert order == ["first", "second"]


def test_a_folder_of_somebody_else_is_not_marked_as_ours(tmp_path):
    (tmp_path / "mine").write_text("x")

    with pytest.raises(LookupError, match="was not made by this command and is not empty"):
        environments.begin(tmp_path)

    assert ["mine"] == [path.name for path in tmp_path.iterdir()]


def test_the_size_is_that_of_the_files_and_of_no_link(tmp_path):
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "file").write_bytes(b"123")
    (tmp_path / "link").symlink_to(tmp_path / "deep" / "file")

    assert environments.size(tmp_path) == 3
