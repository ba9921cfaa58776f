"""Windows that no optimizer ends: a loss scaler, or a loop's own guard, leaves out a step on nan or inf.

Nothing is called then that a hook could hear. What tells is the gradient: it was not finite when a backward ended, and
is finite or gone when the next begins, since somebody emptied it.
"""

from collections.abc import Callable, Sequence
from typing import Any

from torch import Tensor

from .norms import Norms, norms


class Unfinished:
    """What is known of the open window's gradient.

    Attributes:
        met: what is said of the first gradient at the read point that was not finite; empty while all were.
        told: one sentence for each window that was thrown away.
    """

    def __init__(self) -> None:
        self.met = ""
        self.told: list[str] = []
        self._noted: Norms | None = None

    def note(self, found: Norms) -> None:
        """A backward is over, and left gradients of these norms."""
        self._noted = found

    def spoilt(self) -> bool:
        """Whether a gradient was not finite when the last backward ended."""
        return self._noted is not None and not self._noted.finite()

    def emptied(self, parameters: Callable[[], Sequence[Tensor]]) -> bool:
        """Whether it was, and is no longer: nothing else than throwing it away makes it finite."""
        return self.spoilt() and norms(list(parameters())).finite()

    def meet(self, forward: int, where: str) -> None:
        """The gradient at the read point is not finite."""
        self.met = self.met or (
            f"the gradient at {where} holds nan or inf in forward {forward}: weights of a gradient "
            "that is not finite mean nothing; look for an empty micro-batch, an overflow or a bad loss scale"
        )

    def refuse(self) -> None:
        """Raise when there was one and it is not thrown away.

        Raises:
            ValueError: it was consumed, or nothing else was measured.
        """
        if self.met:
            raise ValueError(self.met)

    def end(self) -> None:
        """A step consumed the gradient."""
        self.met, self._noted = "", None

    def throw_away(self, windows: int) -> None:
        """No step did; so many windows were measured before."""
        self.told.append(
            f"before window {windows}, gradients that were not finite were thrown away without a step of the optimizer"
        )
        self.end()


def leaves_out(optimizer: Any) -> bool:
    """Whether a fused optimizer was told by a loss scaler that it met nan or inf, and will leave its step out."""
    found: Tensor | None = getattr(optimizer, "found_inf", None)
    return found is not None and bool(found)
