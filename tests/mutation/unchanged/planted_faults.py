"""One fault per file, found by name as in the real catalogue."""

from importlib import import_module

from toy_fault import fault

FAULTS = {name: fault(name, import_module(f"{name}_fault").patch) for name in ("added", "doubled", "kept")}
