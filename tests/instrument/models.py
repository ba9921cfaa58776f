"""Tiny models with every kind of head that the live instrument has to read."""

import warnings

import torch
import transformers
from torch import nn

VOCABULARY = 61


def seeded(make, seed=0):
    """Call `make` with a seed of its own; the global random state is left as it was."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return make()


def sizes(**more):
    """Arguments of a small decoder's config."""
    small = {
        "vocab_size": VOCABULARY,
        "hidden_size": 16,
        "intermediate_size": 24,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "pad_token_id": 0,
        "bos_token_id": 1,
        "eos_token_id": 2,
    }
    return {**small, **more}


def llama(seed=0, **config):
    return seeded(lambda: transformers.LlamaForCausalLM(transformers.LlamaConfig(**sizes(**config))), seed)


def row_classifier(seed=0, **config):
    return seeded(
        lambda: transformers.LlamaForSequenceClassification(transformers.LlamaConfig(**sizes(**config))), seed
    )


def tied(seed=0):
    return llama(seed, tie_word_embeddings=True)


def soft_capped(seed=0, **config):
    settings = sizes(head_dim=8, final_logit_softcapping=2.0, **config)
    return seeded(lambda: transformers.Gemma2ForCausalLM(transformers.Gemma2Config(**settings)), seed)


def logit_scaled(seed=0):
    return seeded(lambda: transformers.CohereForCausalLM(transformers.CohereConfig(**sizes(logit_scale=0.25))), seed)


def logits_divided(seed=0):
    return seeded(
        lambda: transformers.GraniteForCausalLM(transformers.GraniteConfig(**sizes(logits_scaling=4.0))), seed
    )


def gpt2(seed=0):
    settings = {"vocab_size": VOCABULARY, "n_embd": 16, "n_layer": 2, "n_head": 4, "n_positions": 64}
    ids = {"bos_token_id": 1, "eos_token_id": 2, "pad_token_id": 0}
    return seeded(lambda: transformers.GPT2LMHeadModel(transformers.GPT2Config(**settings, **ids)), seed)


def biased(seed=0, vocab_size=VOCABULARY):
    """A Llama whose head has a bias, and one far from zero."""
    model = llama(seed, vocab_size=vocab_size)
    model.lm_head = seeded(lambda: nn.Linear(16, vocab_size), seed)
    model.lm_head.bias.data.mul_(8)
    return model


class BiasBehindTheHead(transformers.LlamaForCausalLM):
    """Adds one number per token id to the logits, so that half of them cannot be made alone."""

    def __init__(self, config):
        super().__init__(config)
        self.by_id = nn.Parameter(torch.linspace(-1, 1, config.vocab_size))

    def forward(self, *args, labels=None, **kwargs):
        out = super().forward(*args, **kwargs)
        out.logits = out.logits + self.by_id.to(out.logits.dtype)
        if labels is not None:
            out.loss = nn.functional.cross_entropy(out.logits[:, :-1].flatten(0, 1), labels[:, 1:].flatten())
        return out


def bias_behind(seed=0):
    return seeded(lambda: BiasBehindTheHead(transformers.LlamaConfig(**sizes())), seed)


def checkpoint(model, reentrant):
    """Have the model checkpoint its blocks; transformers 5 has a new name for it."""
    enable = getattr(model, "activation_checkpointing_enable", None) or model.gradient_checkpointing_enable
    enable({"use_reentrant": reentrant})


def with_lora(seed=0, target="q_proj", base=llama, **more):
    """A PEFT wrapper whose adapters are not zero, as they are in the beginning."""
    from peft import LoraConfig, get_peft_model

    config = LoraConfig(
        r=2, target_modules=[target] if isinstance(target, str) else target, **{"task_type": "CAUSAL_LM", **more}
    )
    with warnings.catch_warnings():
        # peft calls transformers by a name that it is about to drop.
        warnings.filterwarnings("ignore", "`is_gradient_checkpointing` is deprecated", FutureWarning)
        model = seeded(lambda: get_peft_model(base(seed), config), seed)
    for name, parameter in model.named_parameters():
        if "lora_B" in name:
            parameter.data.fill_(0.1)
    return model


def lora_on_head(seed=0):
    return with_lora(seed, target="lm_head")


MODELS = {
    "llama": llama,
    "tied embeddings": tied,
    "soft-cap": soft_capped,
    "logit scale": logit_scaled,
    "logits scaling": logits_divided,
    "gpt2": gpt2,
    "bias in the head": biased,
    "bias behind the head": bias_behind,
    "LoRA": with_lora,
    "LoRA on the head": lora_on_head,
}


class Written(nn.Module):
    """A causal model that somebody wrote: no config, no base model, no output classes."""

    def __init__(self, vocabulary=VOCABULARY, size=16):
        super().__init__()
        self.embed = nn.Embedding(vocabulary, size)
        self.mix = nn.GRU(size, size, batch_first=True)
        self.norm = nn.LayerNorm(size)
        self.out = nn.Linear(size, vocabulary)

    def forward(self, tokens, labels=None):
        return self.out(self.norm(self.mix(self.embed(tokens))[0]))


def written(seed=0, **sizes):
    return seeded(lambda: Written(**sizes), seed)


def inner(model):
    """The model of transformers inside a wrapper of PEFT."""
    return model.get_base_model() if hasattr(model, "get_base_model") else model
