"""A teacher behind a server answers at temperature 1, and the student is compared at its own."""

from typing import Any

from .._fault import Call, Fault


def patch(original: Call) -> Call:
    """Ask for temperature 1."""

    def _get_teacher_token_logprobs_from_server(self: Any, *args: Any, **kwargs: Any) -> Any:
        kept, self.temperature = self.temperature, 1.0
        try:
            return original(self, *args, **kwargs)
        finally:
            self.temperature = kept

    return _get_teacher_token_logprobs_from_server


FAULT = Fault(
    family="distillation",
    library="trl>=1.16",
    seam="trl.experimental.server_distillation.server_distillation_trainer"
    ":ServerDistillationTrainer._get_teacher_token_logprobs_from_server",
    source="https://github.com/verl-project/verl/issues/7769",
    year=2026,
    mechanism="The server's temperature is fixed at 1 and the student's is not; emulated in TRL, reported of verl.",
    effect="closed_forms.served_rows:taught_at_one",
    clean="closed_forms.served_rows:scored",
    quantity="weights",
    visible="trl_server_distillation",
    patch=patch,
)
