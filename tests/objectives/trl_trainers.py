"""TRL's real trainers, built on a tiny model that then returns scripted log-probabilities instead of running."""

import importlib
import warnings

import numpy as np
import torch
from datasets import Dataset
from transformers import LlamaConfig, LlamaForCausalLM
from trl import (
    DPOConfig,
    DPOTrainer,
    GRPOConfig,
    GRPOTrainer,
    KTOConfig,
    KTOTrainer,
    RewardConfig,
    RewardTrainer,
    RLOOConfig,
    RLOOTrainer,
    SFTConfig,
    SFTTrainer,
)
from trl.trainer.utils import FusedCausalLMOutput

from instrument.loops.data import tokenizer_of_ids
from tests.objectives.policy_forms import COUNTS

VOCABULARY = 32
SETTINGS = {"use_cpu": True, "bf16": False, "report_to": [], "disable_tqdm": True, "save_strategy": "no"}
PAIR = {"prompt": "<3>", "chosen": "<4>", "rejected": "<5>"}
UNPAIRED = {"prompt": "<3>", "completion": "<4>", "label": True}


def build(kind, folder, **arguments):
    """A trainer of the kind, at float64, in training mode.

    Args:
        kind: "sft", "dpo", "kto", "grpo", "rloo" or "reward".
        folder: where the tiny model is saved: a reference is loaded from there.
        arguments: of the trainer's config.
    """
    trainer, config, rows, more = {
        "sft": (SFTTrainer, SFTConfig, [{"input_ids": [3, 4, 5]}] * 2, {}),
        "dpo": (DPOTrainer, DPOConfig, [PAIR] * 2, {}),
        "kto": (KTOTrainer, KTOConfig, [UNPAIRED, {**UNPAIRED, "label": False}], {}),
        "grpo": (GRPOTrainer, GRPOConfig, [{"prompt": "<3>"}] * 2, {"reward_funcs": constant_reward}),
        "rloo": (RLOOTrainer, RLOOConfig, [{"prompt": "<3>"}] * 2, {"reward_funcs": constant_reward}),
        "reward": (RewardTrainer, RewardConfig, [PAIR] * 2, {}),
    }[kind]
    LlamaForCausalLM(tiny_config()).save_pretrained(folder)
    tokenizer_of_ids(VOCABULARY).save_pretrained(folder)
    model = LlamaForCausalLM.from_pretrained(folder) if kind != "reward" else str(folder)
    # TRL turns it on by its old name, of which newer releases of transformers warn
    plain = {name: False for name in ("activation_checkpointing",) if name in config.__dataclass_fields__}
    args = config(output_dir=str(folder / "out"), **{**SETTINGS, **plain, **arguments})
    tokenizer = tokenizer_of_ids(VOCABULARY)
    built = trainer(model=model, args=args, train_dataset=Dataset.from_list(rows), processing_class=tokenizer, **more)
    built.model.train()
    built.current_gradient_accumulation_steps = args.gradient_accumulation_steps
    return built


def build_experimental(module, name, folder, **arguments):
    """A trainer of trl.experimental that is built like the stable ones; folder and arguments as in ``build``."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # "APIs here are unstable", and deprecations of what TRL itself calls
        home = importlib.import_module(f"trl.experimental.{module}")
        LlamaForCausalLM(tiny_config()).save_pretrained(folder)
        tokenizer_of_ids(VOCABULARY).save_pretrained(folder)
        more = {"reward_funcs": constant_reward} if module == "gmpo" else {}
        args = getattr(home, f"{name}Config")(output_dir=str(folder / "out"), **{**SETTINGS, **arguments})
        built = getattr(home, f"{name}Trainer")(
            model=LlamaForCausalLM.from_pretrained(folder),
            args=args,
            train_dataset=Dataset.from_list([PAIR] * 2),
            processing_class=tokenizer_of_ids(VOCABULARY),
            **more,
        )
    built.model.train()
    built.current_gradient_accumulation_steps = args.gradient_accumulation_steps
    return built


def tiny_config():
    """The smallest Llama."""
    return LlamaConfig(
        vocab_size=VOCABULARY,
        hidden_size=8,
        intermediate_size=8,
        num_hidden_layers=1,
        num_attention_heads=1,
        num_key_value_heads=1,
        pad_token_id=0,
        eos_token_id=2,
        bos_token_id=1,
    )


def constant_reward(completions, **_):
    """The same reward for all."""
    return [0.0 for _ in completions]


def script(model, *tables, entropy=None, squares=None):
    """Make a causal model return scripted log-probabilities [b, t] where its labels are not -100, call by call.

    Like the fused head that it stands for, it returns 0 at ignored positions, and nothing of the prompt's tokens.
    """
    calls = iter(tables)

    def forward(*_, labels, fused_lm_head, **__):
        assert fused_lm_head
        log_probs = next(calls)
        scored = labels[:, 1:] != -100
        padded = torch.nn.functional.pad(log_probs, (scored.size(1) - log_probs.size(1), 0))
        zeros = torch.zeros_like(padded)

        def wide(table):
            narrow = zeros if table is None else torch.nn.functional.pad(table, (zeros.size(1) - table.size(1), 0))
            return narrow.masked_fill(~scored, 0)

        return FusedCausalLMOutput(
            log_probs=padded.masked_fill(~scored, 0),
            entropy=wide(entropy),
            log_sum_sq_probs=wide(squares),
            mean_logits=zeros,
            is_top1=torch.zeros_like(scored),
            label_mask=scored,
        )

    model.forward = forward


def leaf(table):
    """A float64 tensor that requires a gradient."""
    return torch.tensor(np.asarray(table, dtype=np.float64), requires_grad=True)


def with_prompt(mask):
    """Inputs [b, 1 + t] of completions behind one prompt token: ids, attention mask and completion mask."""
    marks = torch.tensor(np.asarray(mask)).long()
    before = torch.ones((len(marks), 1), dtype=torch.long)
    return {
        "input_ids": torch.cat([3 * before, 4 * torch.ones_like(marks)], 1),
        "attention_mask": torch.ones((len(marks), 1 + marks.size(1)), dtype=torch.long),
        "completion_mask": torch.cat([0 * before, marks], 1),
    }


def weights(trainer, inputs, table):
    """[b, t] -dL/dlog p of the trainer's loss, its own constants at float64 too."""
    torch.set_default_dtype(torch.float64)
    try:
        loss = trainer.compute_loss(trainer.model, inputs)
    finally:
        torch.set_default_dtype(torch.float32)
    return -torch.autograd.grad(loss, table)[0].numpy()


def completions(drawn):
    """What generation hands to the loss: padding stays in, and the mask is the tools'."""
    ones = torch.ones(drawn.mask.shape, dtype=torch.long)
    return {
        "prompt_ids": 3 * ones[:, :1],
        "prompt_mask": ones[:, :1],
        "completion_ids": 4 * ones,
        "completion_mask": ones,
        "tool_mask": torch.tensor(drawn.mask).long(),
        "advantages": torch.tensor(drawn.advantage),
        "old_per_token_logps": torch.tensor(drawn.old),
        "ref_per_token_logps": torch.tensor(drawn.reference),
        "num_items_in_batch": torch.tensor(COUNTS[1]),
    }
