"""The fused loss of CPO is the sigmoid one whatever is configured."""

from typing import Any

from .._fault import Call, Fault


def patch(original: Call) -> Call:
    """Compute the sigmoid loss."""

    def get_batch_loss_metrics(self: Any, *args: Any, **kwargs: Any) -> Any:
        kept, self.loss_type = self.loss_type, "sigmoid" if self.loss_type == "simpo" else self.loss_type
        found = original(self, *args, **kwargs)
        self.loss_type = kept
        return found

    return get_batch_loss_metrics


FAULT = Fault(
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
