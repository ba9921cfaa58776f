"""Finds every fault in the folders of a package."""

import pkgutil
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path

from ._fault import Fault


def collect(path: Sequence[str], package: str) -> dict[str, Fault]:
    """Import every file of every folder and take its FAULT, by the name of the file.

    A file whose name begins with an underscore holds what several faults share, and none itself.

    Args:
        path: where the package lies (its __path__).
        package: its name.

    Returns:
        The faults, sorted by name.

    Raises:
        LookupError: a file without a FAULT.
        ValueError: two files of one name.
    """
    faults: dict[str, Fault] = {}
    homes: dict[str, str] = {}
    for folder in pkgutil.iter_modules(path):
        if not folder.ispkg:
            continue
        files = [str(Path(place) / folder.name) for place in path]
        for file in pkgutil.iter_modules(files):
            if file.name.startswith("_"):
                continue
            home = f"{package}.{folder.name}.{file.name}"
            fault = getattr(import_module(home), "FAULT", None)
            if not isinstance(fault, Fault):
                raise LookupError(f"{home} has FAULT={fault!r}: every file there must hold one FAULT = Fault(...)")
            if file.name in faults:
                raise ValueError(f"{file.name} names both {homes[file.name]} and {home}: rename one of the two files")
            faults[file.name], homes[file.name] = fault, home
    return dict(sorted(faults.items()))
