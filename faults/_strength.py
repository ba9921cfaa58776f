"""A fault at a fraction of its strength: how small may it be before nobody notices?"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import update_wrapper
from typing import Any

from ._fault import Call, Fault


def mixed(right: Any, wrong: Any, strength: float) -> Any:
    """What a fault works with at a fraction of its strength: numbers or tensors.

        right + s (wrong - right)

    Mixed losses, factors or logs give weights that are mixed alike, w = (1 - s) w_right + s w_wrong; mixed divisors
    give their harmonic mean, 1 / w = (1 - s) / w_right + s / w_wrong.
    """
    return right + strength * (wrong - right)


def weaker(fault: Fault, strength: float) -> Fault:
    """The same defect, mixed with the right code.

    Args:
        fault: one that `dilutes`: its patch takes a strength.
        strength: s, above 0 and at most 1, where it is the fault itself.

    Raises:
        ValueError: another strength, or a fault that has no weaker form.
    """
    if not fault.dilutes:
        raise ValueError(f"the fault at {fault.seam} has no weaker form (dilutes is empty): leave the strength out")
    if not 0 < strength <= 1:
        raise ValueError(f"strength {strength}: give a share of the fault, above 0 and at most 1")

    def patch(original: Call) -> Call:
        return fault.patch(original, strength)

    # So that what reads the file of a patch finds that of the fault.
    return replace(fault, patch=update_wrapper(patch, fault.patch))


class Weakened(Mapping[str, Fault]):
    """Faults by name and strength, as "divided_twice@0.01": where a started process finds them.

    Attributes:
        made: what was asked for so far; it is made once, so that the name of one that is on can be told.
    """

    def __init__(self, faults: Mapping[str, Fault]) -> None:
        self.faults = faults
        self.made: dict[str, Fault] = {}

    def __getitem__(self, name: str) -> Fault:
        """The fault at its strength; a KeyError when there is none, or none so weak."""
        known, _, strength = name.partition("@")
        if name not in self.made:
            try:
                self.made[name] = weaker(self.faults[known], float(strength))
            except ValueError as error:
                raise KeyError(name) from error
        return self.made[name]

    def __iter__(self) -> Iterator[str]:
        return (f"{name}@1" for name, fault in self.faults.items() if fault.dilutes)

    def __len__(self) -> int:
        return len(list(iter(self)))
