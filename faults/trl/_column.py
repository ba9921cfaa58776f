"""Rows of SFTTrainer that are prepared without one of their columns."""

from typing import Any

from .._fault import Call


def without_column(original: Call, name: str) -> Call:
    """Preparation of rows that drops a column, where they have it."""

    def _prepare_dataset(self: Any, dataset: Any, *args: Any) -> Any:
        return original(self, dataset.remove_columns([name] if name in dataset.column_names else []), *args)

    return _prepare_dataset
