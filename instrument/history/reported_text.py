"""Which tokens a chat template marks as the assistant's: three conversations that public reports name."""

from typing import Any

from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast

from ..atlas.cell import DEVIATES, OK, Cell

WORDS = ("<u>", "why", "so", "because", "of", "it", "yes")
TEMPLATE = (
    "{% for message in messages %}{% if message.role == 'assistant' %}"
    "{% generation %}{{ message.content }}%BLANK%{% endgeneration %} "
    "{% else %}{{ message.content }} {% endif %}{% endfor %}"
)


def cut() -> Cell:
    """A reply whose end is cut off: <https://github.com/huggingface/transformers/pull/34494>."""
    said = [("user", "why so"), ("assistant", "because of it")]
    return marked(said, [0, 0, 1, 1], max_length=4, truncation=True)


def at_the_start() -> Cell:
    """A reply of one token with which the conversation begins: its last token has the number 0.

    <https://github.com/huggingface/transformers/issues/47325>
    """
    return marked([("assistant", "yes"), ("user", "why so"), ("assistant", "it")], [1, 0, 0, 1])


def blank_behind() -> Cell:
    """A reply whose block ends in a blank, which no token holds: the same report."""
    return marked([("user", "why"), ("assistant", "of it"), ("user", "so")], [0, 1, 1, 0], " ")


def marked(said: list[tuple[str, str]], expected: list[int], blank: str = "", **options: Any) -> Cell:
    """The marks of a conversation beside the expected ones."""
    words = Tokenizer(models.WordLevel({word: i for i, word in enumerate(WORDS)}, unk_token=WORDS[0]))
    words.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=words, unk_token=WORDS[0])
    given = tokenizer.apply_chat_template(
        [{"role": role, "content": content} for role, content in said],
        chat_template=TEMPLATE.replace("%BLANK%", blank),
        tokenize=True,
        return_dict=True,
        return_assistant_tokens_mask=True,
        **options,
    )
    marks = [int(mark) for mark in given["assistant_masks"]]
    wrong = sum(mark != due for mark, due in zip(marks, expected, strict=True))
    return Cell(DEVIATES if wrong else OK, float(wrong), f"{marks} marked, {expected} are the assistant's")
