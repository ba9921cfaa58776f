"""The heads that transformers puts on an architecture, and the labels that each of them is trained on.

Letters: b rows, t tokens.
"""

from typing import Any, NamedTuple

import torch
import transformers
from torch import Tensor
from transformers.models.auto import modeling_auto

from ..leak_loss import IGNORED


class Head(NamedTuple):
    """A kind of head.

    Attributes:
        auto: class of transformers that builds a model with it.
        registered: the mapping of all architectures that have it.
    """

    auto: str
    registered: str


CAUSAL = "causal-lm"
HEADS = {
    CAUSAL: Head("AutoModelForCausalLM", "MODEL_FOR_CAUSAL_LM_MAPPING_NAMES"),
    "masked-lm": Head("AutoModelForMaskedLM", "MODEL_FOR_MASKED_LM_MAPPING_NAMES"),
    "token-classification": Head("AutoModelForTokenClassification", "MODEL_FOR_TOKEN_CLASSIFICATION_MAPPING_NAMES"),
    "sequence-classification": Head(
        "AutoModelForSequenceClassification", "MODEL_FOR_SEQUENCE_CLASSIFICATION_MAPPING_NAMES"
    ),
    "multiple-choice": Head("AutoModelForMultipleChoice", "MODEL_FOR_MULTIPLE_CHOICE_MAPPING_NAMES"),
    "encoder-decoder": Head("AutoModelForSeq2SeqLM", "MODEL_FOR_SEQ_TO_SEQ_CAUSAL_LM_MAPPING_NAMES"),
}


def architectures(head: str = CAUSAL) -> list[str]:
    """Every architecture for which the installed transformers registers this head."""
    return list(getattr(modeling_auto, HEADS[head].registered))


def auto_class(head: str) -> Any:
    """What builds a model with this head from a config."""
    return getattr(transformers, HEADS[head].auto)


def batch_for(head: str, batch: dict[str, Tensor]) -> dict[str, Tensor]:
    """Padded rows [b, t] as this head is trained on them; a class is whether an id is odd, of the first or of each."""
    ids, labels = batch["input_ids"], batch["labels"]
    if head == "token-classification":
        return {**batch, "labels": torch.where(labels == IGNORED, IGNORED, ids % 2)}
    if head == "sequence-classification":
        return {**batch, "labels": ids[:, 0] % 2}
    if head == "multiple-choice":
        choices = {name: batch[name][:, None].repeat(1, 2, 1) for name in ("input_ids", "attention_mask")}
        # The second choice is the same row from behind.
        choices["input_ids"][:, 1] = ids.flip(1)
        return {**choices, "labels": ids[:, 0] % 2}
    return batch
