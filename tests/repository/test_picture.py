"""The README's picture is what its command draws today."""

import runpy
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_the_picture_shows_what_is_measured(tmp_path):
    script = runpy.run_path(str(ROOT / "docs" / "token_weights.py"))
    script["draw"](str(tmp_path / "drawn.svg"))

    assert (ROOT / "docs" / "token_weights.svg").read_text() == (tmp_path / "drawn.svg").read_text()
