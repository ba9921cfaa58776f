"""The policy of the checks of TRL's losses: small, of float64, with logits of a size that keeps a few steps tame."""

import copy
from typing import Any

import torch
from transformers import LlamaConfig, LlamaForCausalLM, LlamaForSequenceClassification

from .probe import BOS, EOS, PAD


def tiny_policy(vocabulary: int, seed: int = 0) -> LlamaForCausalLM:
    """A Llama of one layer; the global random state is left as it was."""
    config = LlamaConfig(
        vocab_size=vocabulary,
        hidden_size=32,
        intermediate_size=32,
        num_hidden_layers=1,
        num_attention_heads=4,
        num_key_value_heads=4,
        initializer_range=0.1,
        pad_token_id=PAD,
        bos_token_id=BOS,
        eos_token_id=EOS,
    )
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return LlamaForCausalLM(config).double()


def near(model: Any, seed: int = 1, by: float = 0.1) -> Any:
    """A copy of a model, its parameters off by a normal factor of mean 1 and this deviation: a reference."""
    other = copy.deepcopy(model)
    drawn = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for parameter in other.parameters():
            parameter.mul_(1 + by * torch.randn(parameter.shape, generator=drawn, dtype=parameter.dtype))
    return other


def tiny_reward(vocabulary: int, seed: int = 0) -> LlamaForSequenceClassification:
    """A reward model of the same size."""
    config = tiny_policy(vocabulary, seed).config
    config.num_labels = 1
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return LlamaForSequenceClassification(config).double()
