"""The window's count holds the slots of the padding too."""

from typing import Any

from .._fault import Call, Fault
from .._strength import mixed


def patch(original: Call, strength: float = 1.0) -> Call:
    """Count every slot of the completions, scored or not."""

    def _generate_and_score_completions(self: Any, inputs: Any) -> Any:
        output = original(self, inputs)
        slots = output["completion_mask"].numel()
        output["num_items_in_batch"] = mixed(output["num_items_in_batch"], slots, strength)
        return output

    return _generate_and_score_completions


FAULT = Fault(
    family="policy",
    library="trl>=1.0",
    seam="trl.trainer.grpo_trainer:GRPOTrainer._generate_and_score_completions",
    source="https://github.com/NovaSky-AI/SkyRL/pull/462",
    year=2025,
    mechanism="The more padding a batch holds, the less its tokens weigh; emulated in TRL, reported of SkyRL.",
    effect="closed_forms.completions:by_all_slots",
    clean="closed_forms.completions:by_window",
    quantity="weights",
    visible="trl_grpo",
    patch=patch,
    dilutes="harmonic",
)
