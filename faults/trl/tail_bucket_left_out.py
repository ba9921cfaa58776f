"""A divergence over the teacher's few words leaves the rest out, and does not divide by what it kept."""

from typing import Any

from .._fault import Call, Fault


def patch(original: Call) -> Call:
    """Add no bucket."""

    def _add_tail_bucket(log_probs: Any, valid_mask: Any) -> Any:
        return log_probs, valid_mask

    return _add_tail_bucket


FAULT = Fault(
    family="distillation",
    library="trl>=1.16",
    seam="trl.experimental.server_distillation.server_distillation_trainer:_add_tail_bucket",
    source="https://github.com/verl-project/verl/issues/7856",
    year=2026,
    mechanism="What is summed is no divergence, and the student's rest is not compared; emulated in TRL, of verl.",
    effect="closed_forms.served_rows:rest_left_out",
    clean="closed_forms.served_rows:scored",
    quantity="weights",
    visible="trl_server_distillation",
    patch=patch,
)
