"""accelerate's example gradient_accumulation_for_autoregressive_models: its own collator and training_function.

git clone https://github.com/huggingface/accelerate  (read at 16cb6eb)
python benchmarks/neighbours/accelerate_autoregressive.py accelerate

What it loads from the hub is replaced: random words, a tokenizer of words, a Llama of two layers.
"""

import argparse
import random
import runpy
import sys
from pathlib import Path
from unittest import mock

import datasets
import transformers
from tokenizers import Tokenizer, models, pre_tokenizers

from instrument import watch

WORDS = {f"w{number}": number for number in range(100)}


def make_tokenizer(*_) -> transformers.PreTrainedTokenizerFast:
    words = Tokenizer(models.WordLevel({**WORDS, "<eos>": 100}, unk_token="<eos>"))
    words.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    return transformers.PreTrainedTokenizerFast(tokenizer_object=words, eos_token="<eos>")


def make_texts(*_) -> datasets.DatasetDict:
    draw = random.Random(0)
    texts = [" ".join(draw.choices(list(WORDS), k=draw.randint(4, 20))) for _ in range(500)]
    return datasets.DatasetDict({s: datasets.Dataset.from_dict({"text": texts}) for s in ("train", "validation")})


def make_model(*_) -> transformers.LlamaForCausalLM:
    sizes = {"hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 2, "num_attention_heads": 4}
    model = transformers.LlamaForCausalLM(transformers.LlamaConfig(vocab_size=101, **sizes))
    opened.append(watch(model))
    reports.append(opened[0].__enter__())
    return model


opened: list[watch] = []
reports: list = []
example = Path(sys.argv[1]) / "examples/by_feature/gradient_accumulation_for_autoregressive_models.py"
module = runpy.run_path(str(example))
train = module["training_function"]
loaders = module["get_dataloaders"].__globals__
loaders["load_dataset"] = make_texts
options = {"gradient_accumulation_steps": 4, "with_wandb_tracking": False, "cpu": True, "mixed_precision": None}
with (
    mock.patch.object(transformers.AutoTokenizer, "from_pretrained", make_tokenizer),
    mock.patch.object(transformers.AutoModelForCausalLM, "from_pretrained", make_model),
):
    train(
        {"lr": 2e-5, "num_epochs": 1, "seed": 42, "batch_size": 2, "max_grad_norm": 1.0}, argparse.Namespace(**options)
    )
opened[0].__exit__(None, None, None)
print(reports[0])
