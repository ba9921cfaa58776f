"""A foreign gradient must be far larger than the sequence's own to be a leak."""

from typing import Any

from .._fault import Call, Fault


def patch(original: Call) -> Call:
    """Rule out whoever gets less than ten times what a sequence gets of its own."""

    def rule_out(self: Any, group: Any) -> None:
        gradient_n = self.largest(self.run(group))
        for i in group:
            self.possible[i] &= gradient_n > 10 * self.own

    return rule_out


FAULT = Fault(
    family="instrument",
    library="instrument",
    seam="instrument.leak_search:Search.rule_out",
    mechanism="A threshold stands where exactly zero belongs, and no leak is as strong as that.",
    effect="closed_forms.leaks:separate",
    quantity="leak",
    visible="leak_without_boundaries",
    clean="closed_forms.leaks:lower_triangular",
    patch=patch,
)
