"""Runs inside the environment of one release: every check, and what it found, as one JSON file."""

import json
import sys
import time
from importlib import import_module, metadata
from pathlib import Path
from typing import Any

from .paths import shortened


def main() -> None:
    """`python -m instrument.history.column FILE LIBRARY RELEASE [ONLY]`."""
    file, library, release, *only = sys.argv[1:]
    own(library, release)
    import torch

    from instrument import checks

    from .reported import reported_checks

    torch.set_num_threads(1)
    cells = {}
    try:
        chosen = checks.choose(only[0] if only else None, [*checks.all_checks(), *reported_checks()])
    except LookupError:
        # A name that this release has no check for.
        chosen = []
    for check in chosen:
        if not only and not concerns(library, check):
            continue
        cells[check.name] = {"group": check.group, "expected": check.expected, **measured(check)}
    names = ("transformers", "accelerate", "tokenizers", "torch", "trl", "peft")
    versions = {name: metadata.version(name) for name in names if present(name)}
    Path(file).write_text(json.dumps({"versions": versions, "cells": cells}))


def own(library: str, release: str) -> None:
    """Insist that the library, and transformers, are this environment's own and no other's.

    Raises:
        RuntimeError: they are not.
    """
    for name in {library, "transformers"}:
        module = import_module(name)
        if not Path(str(module.__file__)).is_relative_to(sys.prefix):
            raise RuntimeError(f"{name} comes from another environment")
        if name == library and module.__version__ != release:
            raise RuntimeError(f"{name} is {module.__version__} here, and not {release}")


def concerns(library: str, check: Any) -> bool:
    """Whether a check asks something of that library."""
    own = ("trainer", "accelerate", "leaks", "reported")
    groups = {"transformers": own, "trl": ("trl",), "accelerate": ("accelerate",)}
    return check.group in groups.get(library, (library,)) or (library == "trl" and check.name.startswith("TRL "))


def present(name: str) -> bool:
    """Whether the distribution is installed."""
    try:
        metadata.version(name)
    except metadata.PackageNotFoundError:
        return False
    return True


def measured(check: Any) -> dict[str, Any]:
    """What one check found; where it does not run, why."""
    start = time.perf_counter()
    try:
        said, status, deviation = check.judge(*check.run())
    except Exception as error:
        # Whatever an old release raises costs its own cell.
        text = str(error).splitlines()[:1]
        said, status, deviation = ": ".join([type(error).__name__, *text]), "not run", 0.0
    said = shortened(said)
    off = deviation if deviation == deviation else None
    return {"measured": said, "status": status, "deviation": off, "seconds": time.perf_counter() - start}


if __name__ == "__main__":
    main()
