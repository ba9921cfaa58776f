"""Classify rows with the Trainer and accumulation: in transformers 5.24.0 every row weighs M times too much.

weighbridge run examples/classification.py
weighbridge run examples/classification.py --accumulation 1
"""

import argparse

import torch
from datasets import Dataset
from transformers import (
    LlamaConfig,
    LlamaForSequenceClassification,
    Trainer,
    TrainingArguments,
    default_data_collator,
    set_seed,
)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--accumulation", type=int, default=4)
    options = parser.parse_args()
    set_seed(0)
    draw = torch.Generator().manual_seed(0)
    ids = torch.randint(3, 100, (64, 10), generator=draw)
    table = [{"input_ids": row, "labels": sum(row) % 3} for row in ids.tolist()]
    model = LlamaForSequenceClassification(
        LlamaConfig(
            vocab_size=100,
            hidden_size=32,
            intermediate_size=48,
            num_hidden_layers=2,
            num_attention_heads=4,
            num_labels=3,
            pad_token_id=0,
        )
    )
    trainer = Trainer(
        model=model,
        args=TrainingArguments(
            output_dir="out",
            max_steps=3,
            per_device_train_batch_size=2,
            gradient_accumulation_steps=options.accumulation,
            logging_steps=1,
            report_to=[],
            save_strategy="no",
            use_cpu=True,
            disable_tqdm=True,
        ),
        train_dataset=Dataset.from_list(table),
        data_collator=default_data_collator,
    )
    trainer.train()
    print("final loss", trainer.state.log_history[-1]["train_loss"])


if __name__ == "__main__":
    main()
