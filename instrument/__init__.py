"""What the gradient is: the measured weight of every token in a training loop of your own."""

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
