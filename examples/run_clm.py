"""Train a causal model on text with the Trainer, as most scripts for it do: tokenize, cut into blocks, accumulate.

weighbridge run examples/run_clm.py --max_steps 4
"""

import argparse
from itertools import chain

from datasets import Dataset
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import (
    DataCollatorForLanguageModeling,
    LlamaConfig,
    LlamaForCausalLM,
    PreTrainedTokenizerFast,
    Trainer,
    TrainingArguments,
    set_seed,
)

TEXTS = [
    "the cat sat on the mat",
    "a dog ran after the cat and the cat ran up a tree",
    "on the mat sat a dog",
    "the tree stood still",
] * 8


def build_tokenizer() -> PreTrainedTokenizerFast:
    words = sorted(set(" ".join(TEXTS).split()))
    vocabulary = {word: i for i, word in enumerate(["<pad>", "<s>", "</s>", "<unk>", *words])}
    tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, bos_token="<s>", eos_token="</s>", unk_token="<unk>", pad_token="<pad>"
    )


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--max_steps", type=int, default=4)
    parser.add_argument("--block_size", type=int, default=0, help="cut all text into blocks; 0: one text to a row")
    parser.add_argument("--output_dir", default="out")
    options = parser.parse_args()
    set_seed(0)
    tokenizer = build_tokenizer()
    rows = [tokenizer(f"<s> {text} </s>")["input_ids"] for text in TEXTS]
    if options.block_size:
        joined = list(chain.from_iterable(rows))
        ends = range(options.block_size, len(joined) + 1, options.block_size)
        rows = [joined[end - options.block_size : end] for end in ends]
    model = LlamaForCausalLM(
        LlamaConfig(
            vocab_size=len(tokenizer),
            hidden_size=32,
            intermediate_size=48,
            num_hidden_layers=2,
            num_attention_heads=4,
            bos_token_id=1,
            eos_token_id=2,
            pad_token_id=0,
        )
    )
    trainer = Trainer(
        model=model,
        args=TrainingArguments(
            output_dir=options.output_dir,
            max_steps=options.max_steps,
            per_device_train_batch_size=2,
            gradient_accumulation_steps=4,
            learning_rate=1e-3,
            logging_steps=1,
            report_to=[],
            save_strategy="no",
            use_cpu=True,
            disable_tqdm=True,
        ),
        train_dataset=Dataset.from_list([{"input_ids": row} for row in rows]),
        data_collator=DataCollatorForLanguageModeling(tokenizer, mlm=False),
        processing_class=tokenizer,
    )
    trainer.train()
    print("final loss", trainer.state.log_history[-1]["train_loss"])


if __name__ == "__main__":
    main()
