"""Lightning: Trainer.fit with accumulate_grad_batches=4; the module returns its own micro-batch's mean.

pip install --no-deps lightning==2.6.6 lightning-utilities torchmetrics pytorch-lightning
python benchmarks/neighbours/lightning_fit.py
"""

import lightning
import torch
from torch.utils.data import DataLoader
from transformers import LlamaConfig, LlamaForCausalLM

from instrument import make_batch, watch


class Module(lightning.LightningModule):
    def __init__(self) -> None:
        super().__init__()
        sizes = {"hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 2, "num_attention_heads": 4}
        self.model = LlamaForCausalLM(LlamaConfig(vocab_size=100, **sizes))

    def training_step(self, batch, number):
        return self.model(**batch).loss

    def configure_optimizers(self):
        return torch.optim.AdamW(self.parameters())


draw = torch.Generator().manual_seed(0)
rows = [
    torch.randint(3, 100, (n,), generator=draw).tolist() for n in torch.randint(4, 20, (16,), generator=draw).tolist()
]
torch.manual_seed(0)
module = Module()
trainer = lightning.Trainer(
    accelerator="cpu",
    max_epochs=1,
    accumulate_grad_batches=4,
    logger=False,
    enable_checkpointing=False,
    enable_progress_bar=False,
)
with watch(module.model) as report:
    trainer.fit(module, DataLoader(rows, batch_size=2, collate_fn=make_batch))
print(report)
