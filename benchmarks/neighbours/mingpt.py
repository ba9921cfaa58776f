"""minGPT: its own Trainer, on rows of several lengths (targets behind a row's end are -1, which its loss ignores).

git clone https://github.com/karpathy/minGPT  (read at 37baab7)
python benchmarks/neighbours/mingpt.py minGPT
"""

import sys

import torch

from instrument import watch

sys.path.insert(0, sys.argv[1])
from mingpt.model import GPT  # type: ignore[import-not-found]
from mingpt.trainer import Trainer  # type: ignore[import-not-found]

LONGEST = 16


def make_rows() -> list[tuple[torch.Tensor, torch.Tensor]]:
    draw = torch.Generator().manual_seed(0)
    rows = []
    for length in torch.randint(3, LONGEST, (32,), generator=draw).tolist():
        ids = torch.randint(1, 100, (LONGEST + 1,), generator=draw)
        targets = ids[1:].clone()
        targets[length:] = -1
        rows.append((ids[:-1], targets))
    return rows


torch.manual_seed(0)
sizes = GPT.get_default_config()
sizes.model_type, sizes.n_layer, sizes.n_head, sizes.n_embd = None, 2, 2, 32
sizes.vocab_size, sizes.block_size = 100, LONGEST
sizes.embd_pdrop = sizes.resid_pdrop = sizes.attn_pdrop = 0.0
model = GPT(sizes)
options = Trainer.get_default_config()
options.device, options.num_workers, options.batch_size, options.max_iters = "cpu", 0, 4, 2
trainer = Trainer(options, model, make_rows())
with watch(model, read_point="transformer.ln_f", head="lm_head") as report:
    trainer.run()
print(report)
