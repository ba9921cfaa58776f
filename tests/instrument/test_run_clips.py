"""A script's own clip is held against its own limit."""

import pytest
from torch.nn.utils import clip_grad

from tests.instrument.scripts import alone, run, script

CLIPPED = """
    import torch
    from torch.nn.utils import clip_grad_norm_
    from transformers import LlamaConfig, LlamaForCausalLM

    torch.manual_seed(0)
    sizes = {{"hidden_size": 16, "intermediate_size": 24, "num_hidden_layers": 1, "num_attention_heads": 2}}
    model = LlamaForCausalLM(LlamaConfig(vocab_size=50, **sizes))
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    scaler = torch.amp.GradScaler("cpu", init_scale=1024.0)
    names = [p for p in model.parameters()]
    for step in range(3):
        ids = torch.randint(3, 50, (2, 8))
        scaler.scale(model(input_ids=ids, labels=ids).loss).backward()
        {before}
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad()
        print(sum(p.double().sum().item() for p in model.parameters()))
"""
RIGHT = "OK: every target weighs the same: token mean, w = 1/N, once the loss scale is undone"
EARLY = "FAULT [clipped-wrongly] clipped before the loss scale of 1024 was undone: clipping to 1 should multiply"
PARTLY = "fault [clipped-partly] in windows 0, 1: clipped on a partial list"
FIRST = "scaler.unscale_(optimizer); "


@pytest.mark.parametrize(
    ("before", "told"),
    [
        (FIRST + "clip_grad_norm_(names, 0.01)", RIGHT),
        (FIRST + "clip_grad_norm_(names, 1000.0)", RIGHT),
        (FIRST + "clip_grad_norm_(names, float('inf'))", RIGHT),
        (FIRST + "clip_grad_norm_((p for p in names), max_norm=0.01)", RIGHT),
        # By another norm than that of order 2 it is any factor below 1.
        (FIRST + "clip_grad_norm_(names, 0.001, 'inf')", RIGHT),
        (FIRST + "clip_grad_norm_(names, 0.02); clip_grad_norm_(names, 0.01)", RIGHT),
        (
            "clip_grad_norm_(names, 1.0)",
            EARLY,
        ),
        (
            FIRST + "clip_grad_norm_(names[:3], 0.001)",
            PARTLY,
        ),
    ],
)
def test_a_clip_is_right_only_behind_the_loss_scale(before, told, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    kept = [getattr(clip_grad, name) for name in ("_get_total_norm", "_clip_grads_with_norm_")]
    name = script(CLIPPED.format(before=before))

    found = run(name)

    assert told in found.output
    assert [line for line in found.output.splitlines() if line in alone(name)] == alone(name).splitlines()
    assert kept == [getattr(clip_grad, name) for name in ("_get_total_norm", "_clip_grads_with_norm_")]
