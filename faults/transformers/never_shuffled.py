"""The Trainer runs through the data as they are stored."""

from typing import Any
from unittest import mock

from .._fault import Call, Fault


def patch(original: Call) -> Call:
    """Sample in order, whatever was asked for."""

    def _get_train_sampler(self: Any, train_dataset: Any = None) -> Any:
        with mock.patch.object(self.args, "train_sampling_strategy", "sequential"):
            return original(self, train_dataset)

    return _get_train_sampler


FAULT = Fault(
    family="samplers",
    library="transformers>=5",
    seam="transformers.trainer:Trainer._get_train_sampler",
    source="https://github.com/Lightning-Universe/lightning-transformers/issues/272",
    year=2022,
    mechanism="No loader of training data shuffles; emulated in the Trainer, reported of lightning-transformers.",
    effect="closed_forms.feeding:never_shuffled",
    quantity="weights",
    visible="trainer_shuffled",
    patch=patch,
)
