"""What a capture hands over of a window."""

from dataclasses import dataclass, field
from typing import Any

from .forward import Forward


@dataclass(frozen=True)
class Arrival:
    """A gradient that came to the read point: of which forward, in which backward, and what was read from it."""

    forward: Forward
    backward: int
    reading: Any


@dataclass
class CapturedWindow:
    """All that arrived between two optimizer steps.

    Attributes:
        arrivals: in the order in which they came.
        stepped: an optimizer that holds parameters of the model ended the window.
        reached: trainable parameters that hold a gradient at its end; 0 when all of them are zero.
        trainable: trainable parameters.
        lost: forwards whose gradient was not finite.
    """

    arrivals: list[Arrival] = field(default_factory=list)
    lost: list[Forward] = field(default_factory=list)
    stepped: bool = False
    reached: int = 0
    trainable: int = 0
