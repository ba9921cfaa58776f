"""The shape of a fault."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

Call = Callable[..., Any]


@dataclass(frozen=True, kw_only=True)
class Fault:
    """One defect of a training library, ready to be switched on.

    Attributes:
        library: the requirement it applies to, e.g. "transformers>=5".
        seam: the function that is replaced, as "module:qualified name".
        source: link to the public report.
        year: of the report.
        mechanism: one sentence: what the code then does wrong.
        effect: the closed form that the measurement must then equal, as "module:name".
        quantity: what is measured: the "weights" of the targets, or the "log" over the objective.
        visible: the scenario of tests/faults/scenarios.py in which the fault shows.
        patch: takes the original function and returns the broken one; it installs nothing.
        clean: the closed form of that scenario without the fault; empty when it is the token mean, or the true log.
    """

    library: str
    seam: str
    source: str
    year: int
    mechanism: str
    effect: str
    quantity: Literal["weights", "log"]
    visible: str
    patch: Callable[[Call], Call]
    clean: str = ""
