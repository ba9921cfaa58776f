"""A small model, its tokenizer and chats of several lengths in a folder: what a command of another stack asks for.

Nothing is loaded from a hub. The rows differ in length, so that a mean of micro-batch means is not a token mean.
"""

import json
import random
from pathlib import Path
from typing import Any

import torch
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

WORDS = {f"w{number}": number for number in range(3, 100)}
SIZES = {"hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 2, "num_attention_heads": 4}


def write(folder: Path) -> tuple[Path, Path]:
    """The folder of the model, and the file of the rows: {"messages": [...]} each, 3 to 23 words in an answer."""
    home, rows = folder / "model", folder / "rows.jsonl"
    words = Tokenizer(models.WordLevel({"<pad>": 0, "<bos>": 1, "<eos>": 2, **WORDS}, unk_token="<pad>"))
    words.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=words, pad_token="<pad>", bos_token="<bos>", eos_token="<eos>", unk_token="<pad>"
    )
    tokenizer.save_pretrained(home)
    torch.manual_seed(0)
    ids = {"pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2}
    LlamaForCausalLM(LlamaConfig(vocab_size=128, max_position_embeddings=256, **SIZES, **ids)).save_pretrained(home)
    draw = random.Random(0)

    def said(length: int) -> str:
        return " ".join(draw.choices(list(WORDS), k=length))

    chats = [[("user", said(4)), ("assistant", said(draw.randint(3, 23)))] for _ in range(32)]
    lines = [json.dumps({"messages": [{"role": role, "content": text} for role, text in chat]}) for chat in chats]
    rows.write_text("\n".join(lines))
    return home, rows


def of_llama_factory(folder: Path) -> dict[str, Any]:
    """What LLaMA-Factory is told of them, in any run; the rows are named in dataset_info.json of the folder."""
    model, rows = write(folder)
    tags = {"role_tag": "role", "content_tag": "content", "user_tag": "user", "assistant_tag": "assistant"}
    told = {"file_name": str(rows), "formatting": "sharegpt", "columns": {"messages": "messages"}, "tags": tags}
    (folder / "dataset_info.json").write_text(json.dumps({"rows": told}))
    return {
        "model_name_or_path": str(model),
        "stage": "sft",
        "do_train": True,
        "finetuning_type": "full",
        "dataset": "rows",
        "dataset_dir": str(folder),
        "template": "empty",
        "cutoff_len": 64,
        "use_cpu": True,
    }


def of_swift(folder: Path) -> dict[str, Any]:
    """What ms-swift is told of them, in any run."""
    model, rows = write(folder)
    return {
        "model": model,
        "model_type": "llama",
        "template": "default",
        "tuner_type": "full",
        "dataset": rows,
        "max_length": 64,
        "torch_dtype": "float32",
        "split_dataset_ratio": 0,
    }
