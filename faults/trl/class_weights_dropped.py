"""A second copy of the loss does not know the weights of desirable and undesirable completions."""

from .._fault import Call, Fault
from ._setting import with_setting


def patch(original: Call) -> Call:
    """Compute the loss with both of them 1."""
    return with_setting(with_setting(original, "desirable_weight", lambda _: 1.0), "undesirable_weight", lambda _: 1.0)


FAULT = Fault(
    family="preference",
    library="trl>=1.0",
    seam="trl.trainer.kto_trainer:KTOTrainer._compute_loss",
    source="https://github.com/huggingface/trl/issues/7063",
    year=2026,
    mechanism="Desirable and undesirable completions count alike.",
    effect="closed_forms.completions:kto_rows_of_one_weight",
    clean="closed_forms.completions:kto_rows",
    quantity="weights",
    visible="trl_kto",
    patch=patch,
)
