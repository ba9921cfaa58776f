"""dattri-LLM: a second opinion. Its hooks capture the gradient at the head's output, from which each weight follows.

pip install --no-deps dattri-llm==0.1.0
python benchmarks/neighbours/dattri_captured.py

The loss of a target with weight w has the gradient w (p - onehot) at its logits, so w = -g[target] / (1 - p[target]);
p is the softmax of logits that are computed here, without Weighbridge. The loop takes means of micro-batch means.
"""

import numpy as np
import torch
from dattri_llm import HookManager, HookManagerConfig
from dattri_llm.gradient.callbacks.base import HookManagerCallback
from transformers import LlamaConfig, LlamaForCausalLM

from instrument import make_batch, watch


class Captured(HookManagerCallback):
    """Keeps what was captured at each backward."""

    def __init__(self) -> None:
        self.gradients: list[torch.Tensor] = []

    def on_layer_backward(self, layer_name, grad_output, layer_type, module_kwargs):
        self.gradients.append(grad_output.clone())


torch.manual_seed(0)
sizes = {"hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 2, "num_attention_heads": 4}
model = LlamaForCausalLM(LlamaConfig(vocab_size=100, **sizes))
rows = [torch.randint(3, 100, (n,)).tolist() for n in (5, 9, 7, 14, 4, 11)]
micro_batches = [make_batch(rows[start : start + 2]) for start in (0, 2, 4)]
captured = Captured()
manager = HookManager(model, config=HookManagerConfig(hook_types={"lm_head": "linear_io"}), callbacks=[captured])
with manager.collect(), watch(model) as report:
    for batch in micro_batches:
        (model(**batch).loss / len(micro_batches)).backward()
manager.remove()

theirs = []
for batch, gradient in zip(micro_batches, captured.gradients, strict=True):
    with torch.no_grad():
        p = model(**batch).logits.double().softmax(-1)
    target = batch["labels"][:, 1:]
    for g_tv, p_tv, target_t in zip(gradient[:, :-1].double(), p[:, :-1], target):
        at = torch.nonzero(target_t != -100).flatten()
        theirs.append((-g_tv[at, target_t[at]] / (1 - p_tv[at, target_t[at]])).numpy())
ours = np.concatenate(report.weights)
print(report)
print(f"largest relative difference of {ours.size} weights: {np.abs(np.concatenate(theirs) / ours - 1).max():.2g}")
