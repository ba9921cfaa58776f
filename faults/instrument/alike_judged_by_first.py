"""Of parameters that are alike, the first is judged."""

from typing import Any

from .._fault import Call, Fault


def patch(original: Call) -> Call:
    """Keep the first of each group."""

    def alike(reading: Any) -> Any:
        return [numbers[:1] for numbers in original(reading)]

    return alike


FAULT = Fault(
    family="instrument",
    library="instrument",
    seam="instrument.step_verdict:alike",
    mechanism="One parameter stands for its group, and what happens to another one passes unjudged.",
    effect="closed_forms.misjudgements:all_right",
    quantity="verdict",
    visible="judged_last_twice",
    clean="closed_forms.misjudgements:each_by_itself",
    patch=patch,
)
