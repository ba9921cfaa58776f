"""SimPO has the likelihood of the chosen answers beside it by default."""

from .._fault import Call, Fault
from ._setting import with_setting


def patch(original: Call) -> Call:
    """Add it."""
    return with_setting(original, "cpo_alpha", lambda _: 1.0)


FAULT = Fault(
    family="preference",
    library="trl>=1.0",
    seam="trl.experimental.cpo.cpo_trainer:CPOTrainer.get_batch_loss_metrics",
    source="https://github.com/huggingface/trl/pull/1760",
    year=2024,
    mechanism="Chosen answers are learned by heart though the loss is named after a paper that has no such term.",
    effect="closed_forms.pair_rows:simpo_pairs_with_answers",
    clean="closed_forms.pair_rows:simpo_pairs",
    quantity="weights",
    visible="trl_simpo",
    patch=patch,
)
