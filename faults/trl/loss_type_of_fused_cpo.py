"""The fused loss of CPO is the sigmoid one whatever is configured."""

from .._fault import Call, Fault
from ._setting import with_setting


def patch(original: Call) -> Call:
    """Compute the sigmoid loss."""
    return with_setting(original, "loss_type", lambda kind: "sigmoid" if kind == "simpo" else kind)


FAULT = Fault(
    family="preference",
    library="trl>=1.0",
    seam="trl.experimental.cpo.cpo_trainer:CPOTrainer.get_batch_loss_metrics",
    source="https://github.com/huggingface/trl/pull/5837",
    year=2026,
    mechanism="SimPO compares sums instead of means, and has no target; emulated, reported of its path through Liger.",
    effect="closed_forms.pair_rows:simpo_pairs_of_sums",
    clean="closed_forms.pair_rows:simpo_pairs",
    quantity="weights",
    visible="trl_simpo",
    patch=patch,
)
