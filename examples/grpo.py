"""Reinforcement learning with TRL: GRPO, with a reward for saying "cat"; or GMPO, its relative of the geometric mean.

weighbridge run examples/grpo.py [--gmpo]
"""

import os
import sys
from typing import Any

# TRL warns that all of trl.experimental may change.
os.environ.setdefault("TRL_EXPERIMENTAL_SILENCE", "1")

from datasets import Dataset
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast, set_seed
from trl import GRPOConfig, GRPOTrainer
from trl.experimental.gmpo import GMPOConfig, GMPOTrainer

WORDS = "the cat sat on mat a dog ran after up tree is tall and old who what where".split()
PROMPTS = ["what sat on the mat", "who ran", "where is the cat", "is the tree tall"] * 4


def build_tokenizer() -> PreTrainedTokenizerFast:
    names = ["<pad>", "<unk>", "<s>", "</s>", *WORDS]
    tokenizer = Tokenizer(models.WordLevel({word: i for i, word in enumerate(names)}, unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        bos_token="<s>",
        eos_token="</s>",
        pad_token="<pad>",
        unk_token="<unk>",
        padding_side="left",
    )


def says_cat(completions: list[str], **_: Any) -> list[float]:
    """One point for each time that the completion says it, and a tenth for each word."""
    return [text.split().count("cat") + len(text.split()) / 10 for text in completions]


def main() -> None:
    set_seed(0)
    tokenizer = build_tokenizer()
    model = LlamaForCausalLM(
        LlamaConfig(
            vocab_size=len(tokenizer),
            hidden_size=32,
            intermediate_size=48,
            num_hidden_layers=2,
            num_attention_heads=4,
            pad_token_id=0,
            bos_token_id=2,
            eos_token_id=3,
        )
    )
    trainers = (GMPOTrainer, GMPOConfig) if "--gmpo" in sys.argv else (GRPOTrainer, GRPOConfig)
    trainer = trainers[0](
        model=model,
        reward_funcs=says_cat,
        args=trainers[1](
            output_dir="out",
            max_steps=4,
            per_device_train_batch_size=4,
            gradient_accumulation_steps=2,
            num_generations=4,
            max_completion_length=12,
            learning_rate=1e-3,
            logging_steps=1,
            report_to=[],
            save_strategy="no",
            use_cpu=True,
            disable_tqdm=True,
        ),
        train_dataset=Dataset.from_list([{"prompt": prompt} for prompt in PROMPTS]),
        processing_class=tokenizer,
    )
    trainer.train()
    print("final loss", trainer.state.log_history[-1]["train_loss"])


if __name__ == "__main__":
    main()
