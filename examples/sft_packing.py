"""Supervised fine-tuning with TRL: packing, and loss on what the assistant says only.

weighbridge run examples/sft_packing.py
"""

from datasets import Dataset
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast, set_seed
from trl import SFTConfig, SFTTrainer

TALKS = [
    ("what sat on the mat", "the cat sat on the mat"),
    ("who ran", "a dog ran after the cat"),
    ("where is the cat", "up a tree"),
    ("is the tree tall", "the tree is tall and old"),
] * 8

# The blocks between generation and endgeneration are what the assistant says.
TEMPLATE = (
    "{% for message in messages %}{% if message['role'] == 'assistant' %}"
    "<assistant> {% generation %}{{ message['content'] }} <end> {% endgeneration %}"
    "{% else %}<user> {{ message['content'] }} <end> {% endif %}{% endfor %}"
    "{% if add_generation_prompt %}<assistant> {% endif %}"
)


def build_tokenizer() -> PreTrainedTokenizerFast:
    words = sorted({word for talk in TALKS for turn in talk for word in turn.split()})
    names = ["<pad>", "<unk>", "<end>", "<user>", "<assistant>", *words]
    tokenizer = Tokenizer(models.WordLevel({word: i for i, word in enumerate(names)}, unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        eos_token="<end>",
        pad_token="<pad>",
        unk_token="<unk>",
        chat_template=TEMPLATE,
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
            eos_token_id=2,
        )
    )
    talks = [
        {"messages": [{"role": "user", "content": asked}, {"role": "assistant", "content": answer}]}
        for asked, answer in TALKS
    ]
    trainer = SFTTrainer(
        model=model,
        args=SFTConfig(
            output_dir="out",
            max_steps=4,
            per_device_train_batch_size=1,
            gradient_accumulation_steps=4,
            learning_rate=1e-3,
            max_length=32,
            packing=True,
            assistant_only_loss=True,
            logging_steps=1,
            report_to=[],
            save_strategy="no",
            use_cpu=True,
            disable_tqdm=True,
        ),
        train_dataset=Dataset.from_list(talks),
        processing_class=tokenizer,
    )
    trainer.train()
    print("final loss", trainer.state.log_history[-1]["train_loss"])


if __name__ == "__main__":
    main()
