"""A project that trains with TRL, in a test: its own trainer takes one step, on the model and data of the project.

pytest -c /dev/null examples/in_tests/test_trl_project.py
"""

import torch
from datasets import Dataset
from transformers import LlamaConfig, LlamaForCausalLM
from trl import SFTConfig, SFTTrainer

from instrument.callback import WeighbridgeCallback

ROWS = [[3, 4, 5, 6], [7, 8, 9], [10, 11, 12, 13, 14, 15, 16], [17, 18]]


def build_trainer(folder) -> SFTTrainer:
    """The trainer under test, with the arguments of the project."""
    torch.manual_seed(0)
    sizes = {"hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 2, "num_attention_heads": 4}
    arguments = SFTConfig(
        output_dir=str(folder),
        per_device_train_batch_size=1,
        gradient_accumulation_steps=4,
        max_steps=1,
        bf16=False,
        use_cpu=True,
        report_to=[],
        save_strategy="no",
        dataset_kwargs={"skip_prepare_dataset": True},
        remove_unused_columns=False,
    )
    return SFTTrainer(
        LlamaForCausalLM(LlamaConfig(vocab_size=64, pad_token_id=0, eos_token_id=2, **sizes)),
        args=arguments,
        train_dataset=Dataset.from_list([{"input_ids": row, "labels": row} for row in ROWS]),
        processing_class=build_tokenizer(),
    )


def build_tokenizer():
    """As small as a tokenizer can be."""
    from tokenizers import Tokenizer, models
    from transformers import PreTrainedTokenizerFast

    names = ["<pad>", "<unk>", "<end>", *(f"word{i}" for i in range(61))]
    tokenizer = Tokenizer(models.WordLevel({name: i for i, name in enumerate(names)}, unk_token="<unk>"))
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, eos_token="<end>", pad_token="<pad>", unk_token="<unk>")


def test_every_target_of_a_step_weighs_the_same(weighbridge, tmp_path):
    trainer = build_trainer(tmp_path)

    with weighbridge.watch(trainer.model) as report:
        trainer.train()

    weighbridge.assert_token_mean(report)


def test_a_fault_would_end_the_training(tmp_path):
    trainer = build_trainer(tmp_path)
    trainer.add_callback(WeighbridgeCallback(on_fault="raise"))

    trainer.train()

    assert any("weighbridge/fault" in entry for entry in trainer.state.log_history)
