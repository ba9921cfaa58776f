"""SimPO has the likelihood of the chosen answers beside it by default."""

from typing import Any

from .._fault import Call, Fault


def patch(original: Call) -> Call:
    """Add it."""

    def get_batch_loss_metrics(self: Any, *args: Any, **kwargs: Any) -> Any:
        kept, self.cpo_alpha = self.cpo_alpha, 1.0
        found = original(self, *args, **kwargs)
        self.cpo_alpha = kept
        return found

    return get_batch_loss_metrics


FAULT = Fault(
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
