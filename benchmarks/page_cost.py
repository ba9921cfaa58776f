"""How large the page of a long run is, and how long Chromium takes to open it.

    python benchmarks/page_cost.py [ROWS] [TOKENS] [TIMES]

Each token has another weight, the worst case: no two neighbours can stand in one run. Words have four letters and a
space at the mean. Times are those of the browser's own clock, from the request to the event `load` and to a layout;
and the processor time of all its processes over that for an empty page, which other work disturbs less.
"""

import re
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

from instrument.run.outcome import Outcome
from instrument.run.page import page
from tests.instrument.records import a_record, a_row, a_window

FRAME = """<!doctype html><meta charset="utf-8"><body>waiting<script>
const start = performance.now(), frame = document.createElement("iframe");
frame.style = "width: 1100px; height: 900px";
frame.onload = () => {
  document.body.dataset.loaded = performance.now() - start;
  frame.contentDocument.body.offsetHeight;
  document.body.dataset.laid = performance.now() - start;
};
frame.src = "page.html";
document.body.append(frame);
</script>"""


class Words:
    """A tokenizer of words of one to seven letters."""

    eos_token_id, eos_token, vocab_size = 2, "</s>", 50_000

    def decode(self, ids, **_) -> str:
        """Words with spaces."""
        return "".join(" " + "abcdefg"[: 1 + i % 7] for i in ids)


def long_run(rows: int, tokens: int) -> Outcome:
    """A run of one window."""
    draw = np.random.default_rng(0)
    made = [
        a_row(
            draw.uniform(0.1, 9, tokens - 1) / (rows * (tokens - 1)),
            ids=draw.integers(3, 50_000, tokens),
            micro_batch=b // 8,
        )
        for b in range(rows)
    ]
    return Outcome(
        ["train.py"], 0, right="right", record=a_record(a_window(*made), vocabulary=50_000), tokenizer=Words()
    )


def opened(folder: Path, browser: str) -> tuple[float, float, float]:
    """Seconds until the page was loaded, until it was laid out, and of processor time."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    options = ("--headless", "--no-sandbox", "--disable-gpu", "--allow-file-access-from-files", "--timeout=60000")
    words = [browser, *options, "--dump-dom", f"file://{folder}/frame.html"]
    told = subprocess.run(words, capture_output=True, text=True, timeout=120).stdout
    found = re.search(r'data-loaded="([\d.]+)" data-laid="([\d.]+)"', told)
    if found is None:
        raise RuntimeError(f"{browser} did not open the page: {told[:300]!r}")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return float(found[1]) / 1e3, float(found[2]) / 1e3, spent


def main(rows: int = 64, tokens: int = 2048, times: int = 5) -> None:
    """Print the figures."""
    browser = shutil.which("chromium") or shutil.which("google-chrome")
    if browser is None:
        raise SystemExit("neither chromium nor google-chrome is on the path")
    text = page(long_run(rows, tokens))
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "frame.html").write_text(FRAME)
        (folder / "page.html").write_text("<!doctype html><p>nothing")
        empty = [opened(folder, browser) for _ in range(times)]
        (folder / "page.html").write_text(text)
        found = [opened(folder, browser) for _ in range(times)]
    loaded, laid, spent = (statistics.median(column) for column in zip(*found))
    nothing = statistics.median(seconds for *_, seconds in empty)
    print(
        f"{rows} rows of {tokens} tokens: {len(text.encode()) / 1e6:.2f} MB; loaded in {loaded:.2f} s, laid out in "
        f"{laid:.2f} s, {spent - nothing:.2f} s of processor time over an empty page (medians of {times})"
    )


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
