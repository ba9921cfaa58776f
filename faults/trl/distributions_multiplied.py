"""Tokens of a group are merged by multiplying their whole distributions, word by word."""

from typing import Any

from .._fault import Call, Fault


def patch(original: Call) -> Call:
    """Multiply the distributions of each group and divide by the sum."""

    def _merge_probabilities_with_alignment_groups(
        self: Any, probs: Any, alignment_groups: Any, token_ids: Any = None
    ) -> Any:
        merged = probs[: len(alignment_groups)].clone()
        for row, group in enumerate(alignment_groups):
            merged[row] = probs[group].log().sum(0).softmax(0)
        return merged

    return _merge_probabilities_with_alignment_groups


FAULT = Fault(
    family="distillation",
    library="trl>=1.16",
    seam="trl.experimental.gold.gold_trainer:ULDLoss._merge_probabilities_with_alignment_groups",
    source="https://github.com/huggingface/trl/pull/4765",
    year=2025,
    mechanism="A word is as likely as it is at all places of the group at once, which no rule of probability says.",
    effect="closed_forms.spelled_rows:multiplied_through",
    clean="closed_forms.spelled_rows:spelled",
    quantity="weights",
    visible="trl_gold_across",
    patch=patch,
)
