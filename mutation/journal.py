"""What campaigns leave behind: `journal.jsonl`, to which every cell is appended as it comes and nothing is ever lost.

A campaign begins with a line {"plan": ...} and ends, unless it is interrupted, with {"end": "complete" or "void"}. When
one is complete its cells are also written to `cells.jsonl`, with those that it took from earlier ones, and its verdicts
to `summary.json`; these two files always belong together.
"""

import errno
import fcntl
import json
import os
import platform
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import asdict
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from mutation.cache import Id, Row, Run
from mutation.cells import Cell


class Journal:
    """One campaign's entry in the journal of a folder.

    Attributes:
        killers: by fault, the tests that noticed it in the campaign that the folder held before.
        earlier: the campaigns before.
        plan: of this campaign; when it was resumed, as it was begun.
        resumed: the rows that it had before it was interrupted.
        rows: by cell, those of this campaign.
        result: what is to be written when it is complete.
    """

    def __init__(self, folder: Path, plan: Mapping[str, Any], resume: bool) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.folder, self.path, self.plan = folder, folder / "journal.jsonl", plan
        self.killers: dict[str, list[str]] = {}
        self.resumed: list[Row] = []
        self.rows: dict[Id, Row] = {}
        self.result: tuple[Mapping[str, Any], Iterable[Row], Iterable[str]] = ({}, (), ())
        with suppress(FileNotFoundError):
            before = json.loads((folder / "summary.json").read_text())
            self.killers = {name: verdict["killers"] for name, verdict in before["faults"].items()}
        text = self.path.read_text(errors="replace") if self.path.exists() else ""
        self.earlier = runs(text)
        if resume:
            self.resumed = unfinished(self.earlier, plan, self.path)
            self.plan = self.earlier.pop().plan
        # A power cut may have torn the last line: it stays, for nobody to read.
        self.file = self.path.open("ab", buffering=0)
        try:
            fcntl.lockf(self.file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            self.file.close()
            raise ValueError(f"another campaign writes to {folder}: wait for it, or give another --out") from error
        if text and not text.endswith("\n"):
            self.file.write(b"\n")
        if not resume:
            self.append({"plan": plan})

    def cell(self, row: dict[str, Any]) -> None:
        """Append one cell, before the next one is looked at."""
        self.rows[row["fault"], row["part"], row["test"]] = row
        self.append(row)

    def append(self, line: Mapping[str, Any]) -> None:
        """Append one line.

        Raises:
            OSError: it could not be written in full; the lines before are whole.
        """
        left = (json.dumps(line) + "\n").encode()
        try:
            while left:
                left = left[self.file.write(left) :]
        except OSError as error:
            raise OSError(
                error.errno, f"{error.strerror}: all before the last line is kept; make room, then --resume", self.path
            ) from error

    def complete(self, summary: Mapping[str, Any], taken: Iterable[Row], modules: Iterable[str]) -> None:
        """Write the verdicts, and all cells that they rest on, in place of those of the campaign before."""
        rows = [*({**row, "cached": True} for row in taken), *({**row, "cached": False} for row in self.rows.values())]
        texts = {"cells.jsonl": "".join(json.dumps(row) + "\n" for row in rows)}
        texts["summary.json"] = json.dumps(summary, indent=1) + "\n"
        for name, text in texts.items():
            (self.folder / f"{name}.part").write_text(text)
        for name in texts:
            (self.folder / f"{name}.part").rename(self.folder / name)
        self.append({"end": "complete", "modules": sorted(modules)})

    def void(self) -> None:
        """Say that nothing of this campaign may be used; where that cannot be written, it counts as interrupted."""
        with suppress(OSError):
            self.append({"end": "void"})


def as_row(ident: Id, cell: Cell, key: str, counted: Iterable[str]) -> dict[str, Any]:
    """A cell as a line."""
    fault, part, test = ident
    return {"fault": fault, "part": part, "test": test, **asdict(cell), "key": key, "counted": list(counted)}


def refuse_full_disk(message: str) -> None:
    """Stop where a test met a full disk: what it says then is not about any fault.

    Raises:
        OSError: it did.
    """
    if os.strerror(errno.ENOSPC) in message:
        raise OSError(errno.ENOSPC, f"a test met a full disk ({message}): make room, then --resume")


def runs(text: str) -> list[Run]:
    """Read the campaigns of a journal. A line that is not whole is left out."""
    found: list[Run] = []
    rows: list[Row] = []
    for text_line in text.splitlines():
        line: Any = {}
        with suppress(json.JSONDecodeError):
            line = json.loads(text_line)
        if not isinstance(line, dict):
            continue
        if "plan" in line:
            rows = []
            found.append(Run(line["plan"], rows))
        elif "end" in line and found:
            found[-1] = Run(found[-1].plan, found[-1].rows, line["end"], line.get("modules", []))
            # What stands between an end and the next beginning belongs to nobody.
            rows = []
        elif "key" in line:
            rows.append(line)
    return found


def unfinished(earlier: list[Run], plan: Mapping[str, Any], path: Path) -> list[Row]:
    """The rows of the campaign to resume.

    Raises:
        ValueError: there is none, or it had another plan.
    """
    if not earlier or earlier[-1].end:
        what = f"the last campaign there is {earlier[-1].end}" if earlier else "no campaign has begun there"
        raise ValueError(f"--resume: {path} has nothing to resume, {what}: leave --resume out")
    begun = earlier[-1].plan
    for name in plan.keys() - {"seed"}:
        if begun.get(name) != plan[name]:
            raise ValueError(
                f"--resume: {path} was begun with {name} {begun.get(name)}, not {plan[name]}: give the same, or leave "
                "--resume out"
            )
    return list(earlier[-1].rows)


def versions() -> dict[str, str]:
    """Version of Python, and of what the verdicts depend on."""
    found = {"python": platform.python_version()}
    for name in ("accelerate", "hypothesis", "numpy", "peft", "pytest", "torch", "transformers", "trl"):
        with suppress(PackageNotFoundError):
            found[name] = version(name)
    return found
