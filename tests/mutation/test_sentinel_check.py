"""A campaign beside which a sentinel is misjudged is void."""

import json
import time

import pytest

from mutation import sentinel_check


@pytest.fixture
def judged(tmp_path):
    """A folder in which a campaign gave these statuses."""

    def write(statuses):
        (tmp_path / "out").mkdir()
        faults = {name: {"status": status} for name, status in statuses.items()}
        (tmp_path / "out" / "summary.json").write_text(json.dumps({"faults": faults}))
        return tmp_path

    return write


@pytest.mark.spawn
def test_all_sentinels_are_judged_as_known(monkeypatch):
    compared, compare = [], sentinel_check.compare
    monkeypatch.setattr(sentinel_check, "compare", lambda *given: compared.append(given[1]) or compare(*given))

    with sentinel_check.sentinels_beside():
        pass

    assert [sentinel_check.WARM, sentinel_check.COLD] == compared


@pytest.mark.spawn
def test_a_misjudged_sentinel_is_found(monkeypatch):
    monkeypatch.setattr(sentinel_check, "WARM", {"harmless": "killed"})
    monkeypatch.setattr(sentinel_check, "COLD", {"wrong": "killed"})

    with pytest.raises(RuntimeError, match=r"harmless is survived, not killed$"), sentinel_check.sentinels_beside():
        pass


@pytest.mark.parametrize("found", [{"wrong": "survived"}, {}])
def test_another_status_or_none_makes_the_run_void(judged, found):
    with pytest.raises(RuntimeError, match=r"void: wrong is (survived|None), not killed"):
        sentinel_check.compare(judged(found), {"wrong": "killed"})


def test_only_the_known_statuses_are_accepted(judged):
    folder = judged({"wrong": "killed", "harmless": "survived"})
    sentinel_check.compare(folder, {"wrong": "killed", "harmless": "survived"})

    with pytest.raises(RuntimeError, match=r"void: harmless is survived, not killed$"):
        sentinel_check.compare(folder, {"wrong": "killed", "harmless": "killed"})


def test_no_summary_makes_the_run_void(tmp_path):
    (tmp_path / "log").write_text("the reason")

    with pytest.raises(RuntimeError, match="void:\nthe reason"):
        sentinel_check.compare(tmp_path, {"wrong": "killed"})


@pytest.mark.spawn
def test_a_block_that_fails_is_not_waited_for():
    began = time.monotonic()
    with pytest.raises(ZeroDivisionError), sentinel_check.sentinels_beside():
        raise ZeroDivisionError

    assert time.monotonic() - began < 2
