"""Tokens of a group are merged by the distribution of the first one."""

from typing import Any

from .._fault import Call, Fault


def patch(original: Call) -> Call:
    """Merge as "observed" does, whatever was asked for."""

    def _merge_probabilities_with_alignment_groups(self: Any, *args: Any, **kwargs: Any) -> Any:
        kept, self.token_merge_strategy = self.token_merge_strategy, "observed"
        try:
            return original(self, *args, **kwargs)
        finally:
            self.token_merge_strategy = kept

    return _merge_probabilities_with_alignment_groups


FAULT = Fault(
    family="distillation",
    library="trl>=1.16",
    seam="trl.experimental.gold.gold_trainer:ULDLoss._merge_probabilities_with_alignment_groups",
    source="https://github.com/huggingface/trl/issues/5152",
    year=2026,
    mechanism="The first token's distribution times the later ones' probabilities is right for what was said alone.",
    effect="closed_forms.spelled_rows:merged_by_first",
    clean="closed_forms.spelled_rows:spelled",
    quantity="weights",
    visible="trl_gold_across",
    patch=patch,
)
