"""A training script as people write them: three optimizer steps on packed documents with masked prompts.

CASE in the environment plants one fault in it, TOOL attaches one tool as its own documentation says (attach.py). The
last line is what came of it, as JSON: what the tool said, the seconds of the loop, a digest of the trained parameters.

TrainCheck rewrites this file and runs the copy, so everything stands at the top level and the model is called `model`.
"""

import hashlib
import json
import os
import sys
import time

import torch
from transformers import LlamaConfig, LlamaForCausalLM

sys.path.insert(0, os.environ["PEERS"])
from attach import attached

CASE, TOOL = os.environ["CASE"], os.environ["TOOL"]
torch.set_num_threads(1)
torch.manual_seed(0)
sizes = {"vocab_size": 200, "hidden_size": 64, "intermediate_size": 160, "num_hidden_layers": 2}
model = LlamaForCausalLM(LlamaConfig(**sizes, num_attention_heads=4, num_key_value_heads=4, attn_implementation="sdpa"))
model.train()


def micro_batch() -> tuple[dict[str, torch.Tensor], list[int]]:
    """One row of three documents, and the document of each token; the first three tokens of each are a prompt."""
    ids, labels, positions, documents = [], [], [], []
    for document, length in enumerate(torch.randint(6, 40, (3,)).tolist()):
        tokens = torch.randint(3, 200, (length,)).tolist()
        prompt, answer = tokens[:3], tokens[3:]
        ids += tokens
        if CASE == "swapped mask":
            labels += [-100, *prompt[1:]] + [-100] * len(answer)
        else:
            labels += [-100] * 3 + answer
        positions += range(length)
        documents += [document] * length
    batch = {"input_ids": ids, "labels": labels, "position_ids": positions}
    if CASE == "packed without boundaries":
        del batch["position_ids"]
    return {name: torch.tensor([values]) for name, values in batch.items()} | {"use_cache": False}, documents


windows = [[micro_batch() for _ in range(4)] for _ in range(3)]
trained = list(model.parameters())
if CASE == "parameter not in the optimizer":
    trained = [tensor for name, tensor in model.named_parameters() if name != "model.layers.0.mlp.up_proj.weight"]
optimizer = torch.optim.AdamW(trained, lr=1e-3)

began = time.perf_counter()
with attached(TOOL, model, optimizer, *windows[0][0]) as said:
    for window in windows:
        count = sum((batch["labels"][:, 1:] != -100).sum() for batch, _ in window)
        for number, (batch, _) in enumerate(window):
            own = (batch["labels"][:, 1:] != -100).sum()
            # A mean of means counts each micro-batch's own targets; the other two are off by a factor.
            counted = own * len(window) if CASE == "mean of means" else count
            off = {"normaliser 1 % off": 1.01, "normaliser 2 times": 2.0}.get(CASE, 1.0)
            (model(**batch, num_items_in_batch=counted).loss / off).backward()
            if CASE == "dropped micro-batch" and number == 0:
                optimizer.zero_grad()
        optimizer.step()
        optimizer.zero_grad()
seconds = time.perf_counter() - began
digest = hashlib.sha256(b"".join(tensor.detach().numpy().tobytes() for tensor in model.parameters())).hexdigest()
print(json.dumps({"said": said, "seconds": seconds, "digest": digest}))
