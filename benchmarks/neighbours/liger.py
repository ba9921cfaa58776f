"""Liger kernels: the fused linear cross-entropy of a patched Llama, in Triton's interpreter, four micro-batches a step.

pip install --no-deps liger-kernel==0.8.5 triton
TRITON_INTERPRET=1 python benchmarks/neighbours/liger.py
"""

import torch
from liger_kernel.transformers import apply_liger_kernel_to_llama
from transformers import LlamaConfig, LlamaForCausalLM

from instrument import make_batch, watch

apply_liger_kernel_to_llama(rope=False, swiglu=False, rms_norm=False, fused_linear_cross_entropy=True)
draw = torch.Generator().manual_seed(0)
rows = [torch.randint(3, 100, (n,), generator=draw).tolist() for n in (5, 9, 3, 12)]
torch.manual_seed(0)
sizes = {"hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 2, "num_attention_heads": 4}
model = LlamaForCausalLM(LlamaConfig(vocab_size=100, **sizes))
optimizer = torch.optim.AdamW(model.parameters())
targets = sum(len(row) - 1 for row in rows)
for count in (None, targets):
    with watch(model) as report:
        for row in rows:
            own = {} if count is None else {"num_items_in_batch": count}
            loss = model(**make_batch([row]), **own).loss
            (loss / len(rows) if count is None else loss).backward()
        optimizer.step()
        optimizer.zero_grad()
    print(f"num_items_in_batch={count}", report, sep="\n")
