"""Tracer rows, in which every input token id is unique, and the small model that they run through.

With the attention output silenced, the loss of a target depends on nothing but the one input token before it, so the
gradient of an input's embedding is the weight of its target times a direction that is known in advance.
"""

import operator
from collections.abc import Sequence

import torch
from transformers import LlamaConfig, LlamaForCausalLM

PAD, BOS, EOS = 0, 1, 2
IGNORED = -100


def tracer_rows(lengths: Sequence[int], seed: int = 0, end_with_eos: bool = False) -> list[list[int]]:
    """Draw rows of the given lengths in which no token id occurs twice.

    Args:
        lengths: [b] tokens per row, each at least 2 (one input and one target).
        seed: shuffles which row holds which ids.
        end_with_eos: put the end-of-sequence id behind every row; as the last token it is never an input with a target.

    Returns:
        [b] rows of ids; none is PAD, BOS or EOS, but for the EOS at the end where it was asked for.

    Raises:
        ValueError: no row, or a row without a target.
    """
    if not hasattr(lengths, "__len__"):
        raise ValueError(f"lengths={lengths!r}: give the number of tokens of each row in a list, e.g. lengths=[5, 9]")
    if len(lengths) == 0:
        raise ValueError("lengths=[] holds no row: give the number of tokens of each row, e.g. lengths=[5, 9]")
    odd = [n for n in lengths if not hasattr(n, "__index__")]
    if odd:
        raise ValueError(f"lengths holds {odd[0]!r}: give the number of tokens of each row as a whole number")
    short = [(b, n) for b, n in enumerate(lengths) if n < 2]
    if short:
        b, n = short[0]
        raise ValueError(
            f"lengths[{b}]={n}: a row needs at least 2 tokens, one input and one target; drop the row or lengthen it"
        )
    specials = 1 + max(PAD, BOS, EOS)
    order = torch.randperm(sum(lengths), generator=torch.Generator().manual_seed(seed))
    ids = iter((order + specials).tolist())
    tail = [EOS] if end_with_eos else []
    return [[next(ids) for _ in range(n)] + tail for n in lengths]


def read_rows(rows: Sequence[Sequence[int]]) -> list[list[int]]:
    """The rows as plain integers.

    Raises:
        ValueError: something that is no whole number, a negative id, or one for which the probe would need a larger
            embedding than a few hundred megabytes.
    """
    try:
        plain = [[operator.index(token) for token in row] for row in rows]
    except TypeError as error:
        raise ValueError(f"rows must hold rows of whole numbers, the token ids, and do not: {error}") from error
    limit = 1_000_000
    odd = [token for row in plain for token in row if not 0 <= token < limit]
    if odd:
        raise ValueError(
            f"id {odd[0]} is not in 0 ... {limit - 1}: the probe's embedding has one row for each id up to it"
        )
    return plain


def vocabulary_for(rows: Sequence[Sequence[int]]) -> int:
    """Smallest vocabulary that holds the special tokens and every id of the rows."""
    return 1 + max(PAD, BOS, EOS, *(i for row in rows for i in row))


def build_probe(vocab_size: int, seed: int = 0, *, hidden_size: int = 64, layers: int = 2) -> LlamaForCausalLM:
    """Build the probe: a seeded float64 Llama whose attention writes nothing into the residual stream.

    The output projection of each attention layer is zero and frozen; all else trains. Everything else is the
    library's own code: embedding, norms, MLP, head, loss, SDPA attention.

    Args:
        vocab_size: number of token ids, tracers and specials.
        seed: of the weights; the global random state is left as it was.
        hidden_size: h; at most h - 1 targets of one input can be told apart.
        layers: decoder layers.
    """
    config = LlamaConfig(
        vocab_size=vocab_size,
        hidden_size=hidden_size,
        intermediate_size=2 * hidden_size,
        num_hidden_layers=layers,
        num_attention_heads=4,
        num_key_value_heads=4,
        max_position_embeddings=4096,
        tie_word_embeddings=False,
        attn_implementation="sdpa",
        pad_token_id=PAD,
        bos_token_id=BOS,
        eos_token_id=EOS,
    )
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        model = LlamaForCausalLM(config).double()
    for layer in model.model.layers:
        layer.self_attn.o_proj.weight.data.zero_()
        layer.self_attn.o_proj.weight.requires_grad_(False)
    return model


def make_batch(
    rows: Sequence[Sequence[int]],
    labels: Sequence[Sequence[int]] | None = None,
    *,
    padding_side: str = "right",
    pad_id: int = PAD,
    pad_to: int = 0,
) -> dict[str, torch.Tensor]:
    """Pad rows into one batch, as a language-modelling collator would, but for one label.

    A row's first token is no target, since nothing of the row comes before it. With left padding its label is taken
    away: a collator that leaves it there trains the padding to predict it.

    Args:
        rows: [b] rows of token ids.
        labels: [b] rows of labels, -100 where a token is not scored; the ids themselves when left out.
        padding_side: "right" or "left".
        pad_id: id put into the padding; its label is -100 and its attention mask 0.
        pad_to: pad to at least this many tokens.

    Returns:
        input_ids, labels, attention_mask, each [b, t] of int64.

    Raises:
        ValueError: no row, labels that do not fit the rows, or an unknown padding side.
    """
    if not hasattr(rows, "__len__") or any(isinstance(row, str) or not hasattr(row, "__len__") for row in rows):
        raise ValueError(f"rows={rows!r}: give a list with the token ids of each row, e.g. [[5, 6, 7], [8, 9]]")
    if len(rows) == 0:
        raise ValueError("rows=[] holds no row: give the token ids of each row of the batch")
    if any(len(row) == 0 for row in rows):
        raise ValueError(f"rows[{[len(row) for row in rows].index(0)}] holds no token: leave the row out")
    labels = rows if labels is None else labels
    if [len(row) for row in labels] != [len(row) for row in rows]:
        raise ValueError(
            f"labels of lengths {[len(row) for row in labels]} for rows of lengths {[len(row) for row in rows]}: "
            "give one label per token, -100 where it is not scored"
        )
    if padding_side not in ("left", "right"):
        raise ValueError(f"padding_side={padding_side!r}: must be 'left' or 'right'")
    width = max(pad_to, *(len(row) for row in rows))

    if padding_side == "left":
        labels = [[IGNORED, *row[1:]] if len(row) < width else row for row in labels]

    def padded(values: Sequence[Sequence[int]], fill: int) -> torch.Tensor:
        pads = [[fill] * (width - len(row)) for row in values]
        whole = [p + list(v) if padding_side == "left" else list(v) + p for v, p in zip(values, pads)]
        return torch.tensor(whole, dtype=torch.int64)

    return {
        "input_ids": padded(rows, pad_id),
        "labels": padded(labels, IGNORED),
        "attention_mask": padded([[1] * len(row) for row in rows], 0),
    }
