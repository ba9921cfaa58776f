"""The KL is penalized at tokens that a tool wrote."""

from typing import Any

from .._fault import Call, Fault


def patch(original: Call) -> Call:
    """Keep the tools' mask out of everything but the advantages."""

    def _compute_loss(self: Any, model: Any, inputs: Any) -> Any:
        own = {name: value for name, value in inputs.items() if name != "tool_mask"}
        if "tool_mask" in inputs:
            own["advantages"] = inputs["advantages"][:, None] * inputs["tool_mask"]
        return original(self, model, own)

    return _compute_loss


FAULT = Fault(
    family="policy",
    library="trl>=1.0",
    seam="trl.trainer.grpo_trainer:GRPOTrainer._compute_loss",
    source="https://github.com/PeterGriffinJin/Search-R1/pull/21",
    year=2025,
    mechanism="What a search returned is held to the reference like the policy's own words; emulated in TRL.",
    effect="closed_forms.penalties:penalty_at_tools",
    clean="closed_forms.drifted_rollouts:penalized",
    quantity="weights",
    visible="trl_grpo_tools",
    patch=patch,
)
