"""Across tokenizers, each token is compared by the logits behind it."""

from typing import Any

from .._fault import Call, Fault


def patch(original: Call) -> Call:
    """Move the logits of both to the token before."""

    def _compute_distillation_loss(self: Any, student_logits: Any, teacher_logits: Any, *args: Any, **told: Any) -> Any:
        behind = [logits.roll(-1, dims=1) for logits in (student_logits, teacher_logits)]
        return original(self, *behind, *args, **told)

    return _compute_distillation_loss


FAULT = Fault(
    family="distillation",
    library="trl>=1.16",
    seam="trl.experimental.gold.gold_trainer:ULDLoss._compute_distillation_loss",
    source="https://github.com/huggingface/trl/pull/5905",
    year=2026,
    mechanism="The slice of the answer's logits begins one late, so each token gets what predicts the next one.",
    effect="closed_forms.spelled_rows:compared_behind",
    clean="closed_forms.spelled_rows:spelled",
    quantity="weights",
    visible="trl_gold_across",
    patch=patch,
)
