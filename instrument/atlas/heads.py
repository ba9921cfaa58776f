"""The heads that transformers puts on an architecture, and the labels that each of them is trained on.

Letters: b rows, t tokens.
"""

from typing import Any, NamedTuple

import torch
import transformers
from torch import Tensor
from transformers.models.auto import modeling_auto

from ..leak_loss import IGNORED
from ..probe import EOS, PAD

NEXT, TOKENS, ROWS, DECODER = "next tokens", "tokens", "rows", "decoder tokens"


class Head(NamedTuple):
    """A kind of head.

    Attributes:
        auto: class of transformers that builds a model with it.
        registered: the mapping of all architectures that have it.
        scores: what has a label each.
        config: what it asks of a config.
    """

    auto: str
    registered: str
    scores: str
    config: dict[str, Any]


CAUSAL = "causal-lm"
ROW_CLASSES = ("AutoModelForSequenceClassification", "MODEL_FOR_SEQUENCE_CLASSIFICATION_MAPPING_NAMES", ROWS)
# With two classes every gradient of logits is a multiple of every other, so no foreign part would show.
THREE = {"num_labels": 3}
HEADS = {
    CAUSAL: Head("AutoModelForCausalLM", "MODEL_FOR_CAUSAL_LM_MAPPING_NAMES", NEXT, {}),
    "conditional-generation": Head(
        "AutoModelForImageTextToText", "MODEL_FOR_IMAGE_TEXT_TO_TEXT_MAPPING_NAMES", NEXT, {}
    ),
    "encoder-decoder": Head("AutoModelForSeq2SeqLM", "MODEL_FOR_SEQ_TO_SEQ_CAUSAL_LM_MAPPING_NAMES", DECODER, {}),
    "masked-lm": Head("AutoModelForMaskedLM", "MODEL_FOR_MASKED_LM_MAPPING_NAMES", TOKENS, {}),
    "token-classification": Head(
        "AutoModelForTokenClassification", "MODEL_FOR_TOKEN_CLASSIFICATION_MAPPING_NAMES", TOKENS, THREE
    ),
    "sequence-classification": Head(*ROW_CLASSES, THREE),
    "multi-label": Head(*ROW_CLASSES, {**THREE, "problem_type": "multi_label_classification"}),
    "regression": Head(*ROW_CLASSES, {"num_labels": 1, "problem_type": "regression"}),
    "multiple-choice": Head("AutoModelForMultipleChoice", "MODEL_FOR_MULTIPLE_CHOICE_MAPPING_NAMES", ROWS, {}),
}


def architectures(head: str = CAUSAL) -> list[str]:
    """Every architecture for which the installed transformers registers this head."""
    return list(getattr(modeling_auto, HEADS[head].registered))


def auto_class(head: str) -> Any:
    """What builds a model with this head from a config."""
    return getattr(transformers, HEADS[head].auto)


def scores_next_tokens(model: Any, head: str) -> bool:
    """Whether labels are read one place on: by causal models, and by those beside encoder-decoders that are none."""
    return head == CAUSAL or (HEADS[head].scores in (NEXT, DECODER) and not model.config.is_encoder_decoder)


def batch_for(head: str, batch: dict[str, Tensor]) -> dict[str, Tensor]:
    """Padded rows [b, t] as this head is trained on them; a class is the remainder of an id, the first or each."""
    ids, labels = batch["input_ids"], batch["labels"]
    if head == "token-classification":
        return {**batch, "labels": torch.where(labels == IGNORED, IGNORED, ids % 3)}
    if HEADS[head].scores != ROWS:
        return batch
    first_b = ids.gather(1, batch["attention_mask"].argmax(1, keepdim=True))[:, 0]
    if head == "multiple-choice":
        choices = {name: batch[name][:, None].repeat(1, 3, 1) for name in ("input_ids", "attention_mask")}
        # The other choices are the same tokens in another order.
        choices["input_ids"][:, 1], choices["input_ids"][:, 2] = ids.flip(1), ids.roll(1, 1)
        return {**choices, "labels": first_b % 3}
    # Some encoder-decoders take a row by its end-of-sequence token.
    last_bt = batch["attention_mask"].cumsum(1).eq(batch["attention_mask"].sum(1, keepdim=True)) & (ids != PAD)
    labels_b = {
        "sequence-classification": first_b % 3,
        "multi-label": ((first_b[:, None] + torch.arange(3)) % 2).float(),
        "regression": (first_b % 5).float(),
    }
    return {**batch, "input_ids": torch.where(last_bt, EOS, ids), "labels": labels_b[head]}
