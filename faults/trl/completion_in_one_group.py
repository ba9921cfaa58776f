"""No place is found at which both tokenizers end a token, so the whole completion is one group."""

from typing import Any

from .._fault import Call, Fault


def patch(original: Call) -> Call:
    """Put all tokens of each side together."""

    def _align_by_byte_offsets(s_offsets: Any, t_offsets: Any) -> Any:
        return [list(range(len(s_offsets)))], [list(range(len(t_offsets)))]

    return _align_by_byte_offsets


FAULT = Fault(
    family="distillation",
    library="trl>=1.16",
    seam="trl.experimental.gold.gold_trainer:ULDLoss._align_by_byte_offsets",
    source="https://github.com/huggingface/trl/pull/5885",
    year=2026,
    mechanism="The texts of both disagree from their first token on, and only the end closes what was opened.",
    effect="closed_forms.spelled_rows:in_one_group",
    clean="closed_forms.spelled_rows:spelled",
    quantity="weights",
    visible="trl_gold_across",
    patch=patch,
)
