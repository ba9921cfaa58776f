"""The teacher's log-probabilities stand at the tokens, and the student's at the places that predict them."""

from typing import Any

from .._fault import Call, Fault


def patch(original: Call) -> Call:
    """Move the teacher's by one; the first token gets 0 and the last score is lost."""

    def _compute_iw_opd_loss(
        self: Any, student_logits: Any, completion_tokens: Any, labels: Any, teacher_actual_logprobs: Any, *more: Any
    ) -> Any:
        late = teacher_actual_logprobs.roll(1, dims=1) * ((labels != -100).cumsum(1) > 1)
        return original(self, student_logits, completion_tokens, labels, late, *more)

    return _compute_iw_opd_loss


FAULT = Fault(
    family="distillation",
    library="trl>=1.16",
    seam="trl.experimental.iw_opd.iw_opd_trainer:IWOPDTrainer._compute_iw_opd_loss",
    source="https://github.com/areal-project/AReaL/issues/1728",
    year=2026,
    mechanism="Each token is judged by the teacher's score of the one before; emulated in TRL, reported of AReaL.",
    effect="closed_forms.sampled_rows:sampled_late",
    clean="closed_forms.sampled_rows:sampled_early",
    quantity="weights",
    visible="trl_iw_opd",
    patch=patch,
)
