"""What docs/findings.md says of the installed libraries and no check of the report shows."""

import torch
from transformers import GPT2Config, GPT2LMHeadModel

from instrument import tracer_rows, watch
from instrument.loops.trainer import run_trainer


def test_the_trainer_counts_gpt2_targets_before_the_shift():
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        model = GPT2LMHeadModel(
            GPT2Config(vocab_size=80, n_embd=32, n_layer=2, n_head=4, bos_token_id=1, eos_token_id=2, pad_token_id=0)
        )
    rows = tracer_rows([5, 9, 3, 12, 7, 4, 10, 6])

    with watch(model) as report:
        run_trainer(model, rows, micro_batch=2, accumulation=4)

    # 48 targets in 8 rows, of which the Trainer counts each row's first token too.
    assert f"token mean times {48 / 56:.6g}" == report.verdicts[0].name
