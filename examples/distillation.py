"""A student learns from a teacher with TRL: another model (Distillation, GKD, IW-OPD), or itself (SDFT, SDPO).

weighbridge run examples/distillation.py [--trainer distillation|gkd|iw_opd|sdft|sdpo]
"""

import argparse
import os

# TRL warns that all of trl.experimental may change.
os.environ.setdefault("TRL_EXPERIMENTAL_SILENCE", "1")

from datasets import Dataset
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast, set_seed
from trl import DistillationConfig, DistillationTrainer
from trl.experimental.gkd import GKDConfig, GKDTrainer
from trl.experimental.iw_opd import IWOPDConfig, IWOPDTrainer
from trl.experimental.sdft import SDFTConfig, SDFTTrainer
from trl.experimental.sdpo import SDPOConfig, SDPOTrainer

WORDS = "the cat sat on mat a dog ran after up tree is tall and old who what where".split()
ASKED = {
    "what sat on the mat": "the cat sat on the mat and a dog sat on the tree",
    "who ran": "a dog",
    "where is the cat": "up the tree",
    "is the tree tall": "the tree is tall and the tree is old",
}
TEMPLATE = (
    "{% for message in messages %}<|{{ message['role'] }}|> {{ message['content'] }} </s> {% endfor %}"
    "{% if add_generation_prompt %}<|assistant|> {% endif %}"
)


def build_tokenizer() -> PreTrainedTokenizerFast:
    names = ["<pad>", "<unk>", "<s>", "</s>", "<|user|>", "<|assistant|>", *WORDS]
    tokenizer = Tokenizer(models.WordLevel({word: i for i, word in enumerate(names)}, unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        bos_token="<s>",
        eos_token="</s>",
        pad_token="<pad>",
        unk_token="<unk>",
        padding_side="left",
        chat_template=TEMPLATE,
    )


def build_model(words: int, layers: int) -> LlamaForCausalLM:
    sizes = {"hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": layers, "num_attention_heads": 4}
    return LlamaForCausalLM(
        LlamaConfig(vocab_size=words, pad_token_id=0, bos_token_id=2, eos_token_id=3, initializer_range=0.3, **sizes)
    )


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--trainer", choices=("distillation", "gkd", "iw_opd", "sdft", "sdpo"), default="distillation")
    which = parser.parse_args().trainer
    set_seed(0)
    tokenizer = build_tokenizer()
    student, teacher = build_model(len(tokenizer), 1), build_model(len(tokenizer), 2)
    settings = {
        "output_dir": "out",
        "max_steps": 4,
        "per_device_train_batch_size": 2,
        "gradient_accumulation_steps": 2,
        "learning_rate": 1e-3,
        "logging_steps": 1,
        "report_to": [],
        "save_strategy": "no",
        "use_cpu": True,
        "disable_tqdm": True,
        # TRL's default is bfloat16, in which no token of a student can be told to a tenth.
        "bf16": False,
    }
    talks = [
        {"messages": [{"role": "user", "content": q}, {"role": "assistant", "content": a}]} for q, a in ASKED.items()
    ] * 4
    if which == "gkd":
        trainer = GKDTrainer(
            model=student,
            teacher_model=teacher,
            args=GKDConfig(**settings, lmbda=0.0, beta=0.5),
            train_dataset=Dataset.from_list(talks),
            processing_class=tokenizer,
        )
    elif which == "iw_opd":
        # It looks for the teacher's tokenizer where the teacher lies.
        tokenizer.save_pretrained("out/teacher")
        teacher.save_pretrained("out/teacher")
        trainer = IWOPDTrainer(
            model=student,
            teacher_model=LlamaForCausalLM.from_pretrained("out/teacher"),
            args=IWOPDConfig(**settings, max_completion_length=12),
            train_dataset=Dataset.from_list(talks),
            processing_class=tokenizer,
        )
    elif which == "sdpo":
        # Its teacher is the student as it was, shown an answer that succeeded.
        student.save_pretrained("out/first")
        trainer = SDPOTrainer(
            model=LlamaForCausalLM.from_pretrained("out/first"),
            reward_funcs=lambda completions, **_: [float(len(set(text.split())) > 5) for text in completions],
            args=SDPOConfig(**settings, max_completion_length=12, num_generations=2, distillation_topk=5),
            train_dataset=Dataset.from_list([{"prompt": q} for q in ASKED] * 4),
            processing_class=tokenizer,
        )
    elif which == "sdft":
        # Its teacher is the student as it was, told the answer beside the question.
        student.save_pretrained("out/first")
        student = LlamaForCausalLM.from_pretrained("out/first")
        trainer = SDFTTrainer(
            model=student,
            args=SDFTConfig(**settings, max_completion_length=12, num_generations=1, distillation_topk=5),
            train_dataset=Dataset.from_list([{"prompt": q, "privileged_context": a} for q, a in ASKED.items()] * 4),
            processing_class=tokenizer,
        )
    else:
        trainer = DistillationTrainer(
            model=student,
            teacher_model=teacher,
            args=DistillationConfig(**settings, max_completion_length=12, beta=0.5),
            train_dataset=Dataset.from_list([{"prompt": q} for q in ASKED] * 4),
            processing_class=tokenizer,
        )
    trainer.train()
    print("final loss", trainer.state.log_history[-1]["train_loss"])


if __name__ == "__main__":
    main()
