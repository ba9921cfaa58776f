"""The column with the lengths of the packed documents is removed as unused."""

from typing import Any

from .._fault import Call, Fault


def patch(original: Call) -> Call:
    """Forget the column."""

    def _set_signature_columns_if_needed(self: Any) -> None:
        original(self)
        self._signature_columns = [name for name in self._signature_columns if name != "seq_lengths"]

    return _set_signature_columns_if_needed


FAULT = Fault(
    family="packing",
    library="trl>=1.0",
    seam="trl.trainer.sft_trainer:SFTTrainer._set_signature_columns_if_needed",
    source="https://github.com/huggingface/trl/pull/3705",
    year=2025,
    mechanism="The lengths of the documents do not reach the collator, to which each pack is one sequence.",
    effect="closed_forms.leaks:rows_of_packs",
    quantity="leak",
    visible="leak_packing",
    patch=patch,
)
