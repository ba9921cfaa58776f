"""Preference training with TRL: DPO on a LoRA adapter, whose reference is the model without it.

weighbridge run examples/dpo_lora.py
"""

from datasets import Dataset
from peft import LoraConfig
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast, set_seed
from trl import DPOConfig, DPOTrainer

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
        tokenizer_object=tokenizer, bos_token="<s>", eos_token="</s>", pad_token="<pad>", unk_token="<unk>"
    )


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
    trainer = DPOTrainer(
        model=model,
        args=DPOConfig(
            output_dir="out",
            max_steps=4,
            per_device_train_batch_size=2,
            gradient_accumulation_steps=2,
            learning_rate=1e-2,
            beta=0.3,
            logging_steps=1,
            report_to=[],
            save_strategy="no",
            use_cpu=True,
            disable_tqdm=True,
        ),
        train_dataset=Dataset.from_list([{"prompt": p, "chosen": c, "rejected": r} for p, c, r in PAIRS]),
        processing_class=tokenizer,
        peft_config=LoraConfig(r=4, target_modules=["q_proj", "v_proj"], task_type="CAUSAL_LM"),
    )
    trainer.train()
    print("final loss", trainer.state.log_history[-1]["train_loss"])


if __name__ == "__main__":
    main()
