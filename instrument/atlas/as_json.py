"""The atlas as JSON, written after each architecture, so that a sweep can be resumed."""

import json
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path
from typing import Any

from .. import files
from .cell import Cell, Result
from .checks import all_checks
from .heads import CAUSAL


def versions() -> dict[str, str]:
    """What was measured."""
    return {name: version(name) for name in ("accelerate", "torch", "transformers", "weighbridge")}


def document(results: list[Result], head: str = CAUSAL) -> dict[str, Any]:
    """Everything that was found."""
    return {
        "versions": versions(),
        "head": head,
        "checks": {check.name: check.asks for check in all_checks(head)},
        "architectures": {result.name: asdict(result) for result in sorted(results, key=lambda r: r.name)},
    }


def write(path: Path, results: list[Result], head: str = CAUSAL) -> None:
    """Write all at once: a reader, or a sweep that is stopped, never sees half of it."""
    files.write(path, json.dumps(document(results, head), indent=1, allow_nan=False) + "\n")


def read(path: Path, head: str = CAUSAL) -> list[Result]:
    """The results of an earlier sweep.

    Raises:
        ValueError: they were measured with other versions or checks, or are no results.
    """
    try:
        told = json.loads(path.read_text())
        known = {"versions": told["versions"], "checks": told["checks"]}
        results = [from_dict(result) for result in told["architectures"].values()]
    except (KeyError, TypeError, ValueError) as error:
        raise ValueError(f"{path} holds no atlas ({type(error).__name__}: {error}): name another file") from error
    now = document([], head)
    for what, then in known.items():
        if then != now[what]:
            odd = sorted(k for k in {**then, **now[what]} if then.get(k) != now[what].get(k))
            raise ValueError(
                f"{path} was measured with other {what} ({', '.join(odd)}): leave out --resume to measure anew"
            )
    return results


def from_dict(told: dict[str, Any]) -> Result:
    """One architecture of a document."""
    return Result(**{**told, "cells": {name: Cell(**cell) for name, cell in told["cells"].items()}})
