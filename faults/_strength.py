"""A fault at a fraction of its strength: how small may it be before nobody notices?"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from ._fault import Call, Fault


def weaker(fault: Fault, strength: float) -> Fault:
    """The same defect, of which the loss has only a part.

        loss = (1 - s) loss_right + s loss_broken,   so every weight is w = (1 - s) w_right + s w_broken

    Args:
        fault: one that `dilutes`.
        strength: s, above 0 and at most 1, where it is the fault itself.

    Raises:
        ValueError: another strength, or a fault that has no weaker form.
    """
    if not fault.dilutes:
        raise ValueError(f"the fault at {fault.seam} has no weaker form (dilutes is empty): leave the strength out")
    if not 0 < strength <= 1:
        raise ValueError(f"strength {strength}: give a share of the fault, above 0 and at most 1")

    def patch(original: Call) -> Call:
        def mixed(*args: Any, **kwargs: Any) -> Any:
            right = original(*args, **kwargs)
            # What is only multiplied is computed once: behind it, a model would run twice.
            broken = fault.patch(original if fault.dilutes == "loss" else lambda *_, **__: right)
            wrong = broken(*args, **kwargs)
            if isinstance(right, tuple):
                # The loss, and what else was asked for.
                return (right[0] + strength * (wrong[0] - right[0]), *right[1:])
            return right + strength * (wrong - right)

        return mixed

    return replace(fault, patch=patch)


class Weakened(Mapping[str, Fault]):
    """Faults by name and strength, as "divided_twice@0.01": where a started process finds them."""

    def __init__(self, faults: Mapping[str, Fault]) -> None:
        self.faults = faults

    def __getitem__(self, name: str) -> Fault:
        """The fault at its strength; a KeyError when there is none, or none so weak."""
        known, _, strength = name.partition("@")
        try:
            return weaker(self.faults[known], float(strength))
        except ValueError as error:
            raise KeyError(name) from error

    def __iter__(self) -> Iterator[str]:
        return (f"{name}@1" for name, fault in self.faults.items() if fault.dilutes)

    def __len__(self) -> int:
        return len(list(iter(self)))
