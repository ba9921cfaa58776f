"""Preference training with TRL, beyond DPO: KTO, CPO, SimPO, ORPO, OnlineDPO; or a reward model.

weighbridge run examples/preference.py --objective kto
"""

import argparse
import os
from typing import Any

# TRL warns that all of trl.experimental may change.
os.environ.setdefault("TRL_EXPERIMENTAL_SILENCE", "1")

from datasets import Dataset
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import (
    LlamaConfig,
    LlamaForCausalLM,
    LlamaForSequenceClassification,
    PreTrainedTokenizerFast,
    set_seed,
)
from trl import KTOConfig, KTOTrainer, RewardConfig, RewardTrainer
from trl.experimental.cpo import CPOConfig, CPOTrainer
from trl.experimental.online_dpo import OnlineDPOConfig, OnlineDPOTrainer
from trl.experimental.orpo import ORPOConfig, ORPOTrainer

PAIRS = [
    ("what sat on the mat ", "the cat sat on the mat", "a dog"),
    ("who ran ", "a dog ran after the cat and up a tree", "the mat ran"),
    ("where is the cat ", "up a tree", "the cat is after the dog on the mat"),
    ("is the tree tall ", "the tree is tall", "a cat"),
] * 4


def build_tokenizer() -> PreTrainedTokenizerFast:
    words = sorted({word for pair in PAIRS for text in pair for word in text.split()})
    names = ["<pad>", "<unk>", "<s>", "</s>", *words]
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


def build_model(tokenizer: PreTrainedTokenizerFast, kind: Any = LlamaForCausalLM) -> Any:
    config = LlamaConfig(
        vocab_size=len(tokenizer),
        hidden_size=32,
        intermediate_size=48,
        num_hidden_layers=2,
        num_attention_heads=4,
        pad_token_id=0,
        bos_token_id=2,
        eos_token_id=3,
        num_labels=1,
    )
    return kind(config)


def says_cat(completions: list[str], **_: Any) -> list[float]:
    """One point for each time that the completion says it, and a tenth for each word."""
    return [text.split().count("cat") + len(text.split()) / 10 for text in completions]


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--objective", choices=["kto", "cpo", "simpo", "orpo", "online_dpo", "reward"], default="kto")
    parser.add_argument("--accumulation", type=int, default=2)
    asked = parser.parse_args()
    set_seed(0)
    tokenizer = build_tokenizer()
    model = build_model(tokenizer)
    settings: dict[str, Any] = {
        "output_dir": "out",
        "max_steps": 4,
        "per_device_train_batch_size": 2,
        "gradient_accumulation_steps": asked.accumulation,
        "learning_rate": 1e-2,
        "beta": 0.3,
        "logging_steps": 1,
        "report_to": [],
        "save_strategy": "no",
        "use_cpu": True,
        "disable_tqdm": True,
    }
    pairs = Dataset.from_list([{"prompt": p, "chosen": c, "rejected": r} for p, c, r in PAIRS])
    common: dict[str, Any] = {"model": model, "train_dataset": pairs, "processing_class": tokenizer}
    if asked.objective == "kto":
        answers = [
            {"prompt": p, "completion": text, "label": good}
            for p, *pair in PAIRS
            for text, good in zip(pair, (True, False))
        ]
        # TRL loads the reference from where the model's config says that it lies.
        model.save_pretrained("policy")
        model.config._name_or_path = "policy"
        trainer = KTOTrainer(args=KTOConfig(**settings), **{**common, "train_dataset": Dataset.from_list(answers)})
    elif asked.objective == "reward":
        del settings["beta"]
        rows = Dataset.from_list([{"chosen": f"{p}{c}", "rejected": f"{p}{r}"} for p, c, r in PAIRS])
        common |= {"model": build_model(tokenizer, LlamaForSequenceClassification), "train_dataset": rows}
        trainer = RewardTrainer(args=RewardConfig(**settings), **common)
    elif asked.objective == "orpo":
        trainer = ORPOTrainer(args=ORPOConfig(**settings), **common)
    elif asked.objective == "online_dpo":
        prompts = pairs.remove_columns(["chosen", "rejected"])
        args = OnlineDPOConfig(**settings, max_new_tokens=8)
        reference = build_model(tokenizer)
        trainer = OnlineDPOTrainer(
            args=args, ref_model=reference, reward_funcs=says_cat, **{**common, "train_dataset": prompts}
        )
    else:
        simpo: dict[str, Any] = {"loss_type": "simpo", "cpo_alpha": 0.0} if asked.objective == "simpo" else {}
        trainer = CPOTrainer(args=CPOConfig(**settings, **simpo), **common)
    trainer.train()
    print("final loss", trainer.state.log_history[-1]["train_loss"])


if __name__ == "__main__":
    main()
