"""The whole matrix, some of its faults once more in fresh processes, weak faults, and the source: one verdict."""

import json
import random
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from mutation.cells import Cell
from mutation.plan import Plan
from mutation.record import Record, read_record
from mutation.suite import refuse_missing

Say = Callable[[str], None]


def nightly(
    out: Path, names: Sequence[str], workers: int, fresh: int, audit: float, seed: int, sample: int, say: Say
) -> bool:
    """Run all that is too long for every commit, each part in a process of its own, and write nightly.json.

    A part that fails does not keep the next one from running.

    Args:
        out: gets the folders matrix, fresh, sensitivity and source, each filled as its command would, and nightly.json.
        names: of all faults.
        fresh: how many faults, drawn at random, run once more with a fresh process each.
        audit: share of the cells that should not be reached which run all the same.
        seed: of what is drawn.
        sample: how many mutants of the source are drawn.
        say: hears what happens.

    Returns:
        Whether every part passed, and the fresh processes saw the same.

    Raises:
        ValueError: the suite is not there.
    """
    refuse_missing([*Plan.suite, Plan.effects])
    drawn = sorted(random.Random(seed).sample(sorted(names), min(fresh, len(names))))
    whole = ["planted", "--mode", "matrix", "--no-cache", "--workers", str(workers)]
    chosen = [part for name in drawn for part in ("--fault", name)]
    parts: dict[str, dict[str, Any]] = {}
    out.mkdir(parents=True, exist_ok=True)
    for name, command in {
        "source": ["source", "--fresh", "--sample", str(sample), "--seed", str(seed), "--workers", str(workers)],
        "matrix": [*whole, "--audit", str(audit)],
        "fresh": [*whole, "--cold", "--audit", "0", *chosen],
        "sensitivity": ["sensitivity", "--workers", str(workers)],
    }.items():
        say(f"{name}: python -m mutation {' '.join(command)}")
        parts[name] = carry_out([*command, "--out", str(out / name)])
        if name == "source" and (out / name / "source.json").exists():
            # A test that kills a mutant of the source is not idle: the matrix reads that from beside its own files.
            (out / "matrix").mkdir(parents=True, exist_ok=True)
            shutil.copy(out / name / "source.json", out / "matrix")
    apart = compared(out / "matrix", out / "fresh")
    # A few faults alone leave most tests idle, so the verdict of that part is the comparison.
    good = not apart and not any(parts[name]["status"] for name in ("matrix", "sensitivity", "source"))
    told = {"passed": good, "seed": seed, "faults": drawn, "differences": apart, "parts": parts}
    (out / "nightly.json").write_text(json.dumps(told, indent=1) + "\n")
    for name, part in parts.items():
        say(f"{name}: status {part['status']} after {part['seconds']:.0f} s")
    say(f"{len(drawn)} faults in fresh processes: {len(apart)} cells differ")
    for line in apart:
        say(f"  {line}")
    return good


def carry_out(command: Sequence[str]) -> dict[str, Any]:
    """Run one command, which shows itself what it does."""
    began = time.monotonic()
    done = subprocess.run([sys.executable, "-m", "mutation", *command])
    return {"status": done.returncode, "seconds": round(time.monotonic() - began, 1)}


def compared(matrix: Path, fresh: Path) -> list[str]:
    """Compare two folders; what one of them has not got is a difference."""
    try:
        return differences(read_record(matrix), read_record(fresh))
    except ValueError as error:
        return [f"nothing to compare: {error}"]


def differences(warm: Record, cold: Record) -> list[str]:
    """Name each cell, of the faults that both have tried, that killed in one of them and not in the other."""
    found = []
    for fault, tried in cold.faults.items():
        other = warm.faults.get(fault)
        if other is None:
            found.append(f"{fault} was not tried in the matrix")
            continue
        for test in sorted({*tried.killers} ^ {*other.killers}):
            here, there = kind(other.cells, test), kind(tried.cells, test)
            found.append(f"{fault} x {test}: {here} in the warm process, {there} in a fresh one")
        if other.status != tried.status:
            found.append(f"{fault}: {other.status} in the warm process, {tried.status} in a fresh one")
    return found


def kind(cells: Mapping[str, Cell], test: str) -> str:
    """How a test ended, or that it did not run."""
    return cells[test].kind if test in cells else "not run"
