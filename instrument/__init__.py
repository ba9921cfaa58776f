"""What the gradient is: the measured weight of every token in a training loop of your own."""

from .api import Report, expected_weights, watch, xray, xray_rows
from .probe import build_probe, make_batch, tracer_rows

__all__ = [
    "Report",
    "build_probe",
    "expected_weights",
    "make_batch",
    "tracer_rows",
    "watch",
    "xray",
    "xray_rows",
]
