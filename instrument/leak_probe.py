"""A small model whose tokens see each other, for tracer rows: where attention lets a leak through, it shows."""

from typing import Any

import torch
from transformers import AutoConfig, AutoModelForCausalLM

from .probe import BOS, EOS, PAD


def build_leak_probe(
    vocabulary: int, kind: str = "llama", seed: int = 0, dtype: torch.dtype = torch.float64, **config: Any
) -> Any:
    """Build a small model of any causal architecture that transformers knows, with drawn weights.

    Args:
        vocabulary: number of token ids, tracers and specials.
        kind: the architecture, as `AutoConfig` calls it.
        seed: of the weights; the global random state is left as it was.
        dtype: of the weights; some experts run in float32 at most.
        config: over the sizes below.
    """
    sizes = {
        "vocab_size": vocabulary,
        "hidden_size": 32,
        "intermediate_size": 48,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "head_dim": 8,
        "max_position_embeddings": 512,
        "pad_token_id": PAD,
        "bos_token_id": BOS,
        "eos_token_id": EOS,
    }
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        model = AutoModelForCausalLM.from_config(AutoConfig.for_model(kind, **{**sizes, **config}))
    for parameter in model.parameters():
        # As drawn, a tiny model hardly attends: larger weights make every path carry gradient.
        parameter.data.mul_(3)
    return model.to(dtype)
