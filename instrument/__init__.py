"""What the gradient is: the measured weight of every token in a training loop of your own.

Names are looked up when they are asked for: importing torch takes seconds, and a script that `weighbridge run` starts
may set what torch reads at its import.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .api import Report, expected_weights, watch, xray, xray_rows
    from .leak import find_leaks, leak_matrix
    from .leak_watch import watch_leaks
    from .probe import build_probe, make_batch, tracer_rows

__all__ = [
    "Report",
    "build_probe",
    "expected_weights",
    "find_leaks",
    "leak_matrix",
    "make_batch",
    "tracer_rows",
    "watch",
    "watch_leaks",
    "xray",
    "xray_rows",
]


def __getattr__(name: str) -> Any:
    """Import the module that holds a public name."""
    homes = {
        **dict.fromkeys(("Report", "expected_weights", "watch", "xray", "xray_rows"), "api"),
        **dict.fromkeys(("find_leaks", "leak_matrix"), "leak"),
        **dict.fromkeys(("build_probe", "make_batch", "tracer_rows"), "probe"),
        "watch_leaks": "leak_watch",
    }
    if name not in homes:
        raise AttributeError(f"instrument has no {name!r}; it has {', '.join(__all__)}")
    return getattr(import_module(f".{homes[name]}", __name__), name)
