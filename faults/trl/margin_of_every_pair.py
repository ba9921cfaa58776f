"""The margin of a pair meets every pair of its micro-batch."""

from typing import Any

from .._fault import Call, Fault


def patch(original: Call) -> Call:
    """Hand margins over as a column, which broadcasts against a row of rewards."""

    def torch_call(self: Any, examples: Any) -> Any:
        output = original(self, examples)
        if "margin" in output:
            output["margin"] = output["margin"][:, None]
        return output

    return torch_call


FAULT = Fault(
    family="preference",
    library="trl>=1",
    seam="trl.trainer.reward_trainer:DataCollatorForPreference.torch_call",
    source="https://github.com/modelscope/ms-swift/pull/9927",
    year=2026,
    mechanism="Margins [B] against rewards [B, 1] broadcast to all pairs; emulated in TRL, reported of ms-swift.",
    effect="closed_forms.reward_rows:rewards_beyond_every_margin",
    clean="closed_forms.reward_rows:rewards_beyond_margins",
    quantity="weights",
    visible="trl_reward_margins",
    patch=patch,
)
