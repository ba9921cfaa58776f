"""verl: `forward_backward_batch` of its FSDP engine with its `ppo_loss`, each policy loss and each way to aggregate.

pip install --no-deps verl==0.9.1  (and what it imports; see docs/neighbours.md)
python benchmarks/neighbours/verl_engine.py

The engine's setup, which shards the model over GPUs, is replaced by the attributes that it reads in a step: the model
is the probe of xray on a CPU, the group one rank of gloo. Every advantage is 1, the old policy is the current one, so
a token weighs what the aggregation gives it. (kl_cov is left out: it adds |log ratio|, whose slope is rounding here.)
Each line holds the measured weights against a closed form.
"""

import os
from types import SimpleNamespace

import numpy as np
import torch
from tensordict import TensorDict
from verl.utils import tensordict_utils as tu
from verl.workers.config import ActorConfig, PolicyLossConfig
from verl.workers.engine.fsdp import transformer_impl
from verl.workers.utils.losses import ppo_loss

import closed_forms
from instrument import xray

LENGTHS, PROMPT, ROWS = (5, 9, 4, 13), 2, 1
HORIZON = max(LENGTHS) - PROMPT
# These do not look at loss_agg_mode.
OWN = {"sapo": "seq-mean-token-mean", "geo_mean": "seq-mean-token-mean"}


def nested(rows: list[torch.Tensor]) -> torch.Tensor:
    return torch.nested.as_nested_tensor(rows, layout=torch.jagged)


def batch_of(rows: list[list[int]], old: list[torch.Tensor]) -> TensorDict:
    """What verl's trainer hands to the engine: jagged rows; masks, old policy and advantages padded to one length."""

    def padded(values: list[torch.Tensor]) -> torch.Tensor:
        return torch.stack([torch.nn.functional.pad(row, (0, HORIZON - len(row))) for row in values])

    ids = [torch.tensor(row) for row in rows]
    answers = [row[PROMPT:] for row in ids]
    columns = {
        "input_ids": nested(ids),
        "position_ids": nested([torch.arange(len(row)) for row in ids]),
        "prompts": nested([row[:PROMPT] for row in ids]),
        "responses": nested(answers),
        "response_mask": padded([torch.ones(len(row), dtype=torch.long) for row in answers]),
        "loss_mask": padded([torch.ones(len(row), dtype=torch.long) for row in answers]),
        "old_log_probs": padded(old),
        "advantages": padded([torch.ones(len(row)) for row in answers]),
    }
    data = TensorDict(columns, batch_size=[len(rows)])
    tu.assign_non_tensor(
        data,
        temperature=1.0,
        use_remove_padding=False,
        use_dynamic_bsz=False,
        micro_batch_size_per_gpu=ROWS,
        global_batch_size=len(rows),
        max_response_len=HORIZON,
    )
    return data


def step_with(loss: str, aggregation: str):
    """A step of the engine for xray."""
    config = ActorConfig(
        strategy="fsdp",
        rollout_n=1,
        ppo_micro_batch_size_per_gpu=ROWS,
        loss_agg_mode=aggregation,
        policy_loss=PolicyLossConfig(loss_mode=loss),
    )

    def step(model, rows) -> None:
        with torch.no_grad():
            spoken = [model(torch.tensor([row])).logits[0].float().log_softmax(-1) for row in rows]
        old = [p[PROMPT - 1 : -1].gather(1, torch.tensor(row)[PROMPT:, None])[:, 0] for p, row in zip(spoken, rows)]
        engine = object.__new__(transformer_impl.FSDPEngineWithLMHead)
        replaced = {
            "module": model,
            "ulysses_sequence_parallel_size": 1,
            "pad_to_length": None,
            "_autocast_dtype": torch.float32,
            "engine_config": SimpleNamespace(use_no_sync_for_gradient_accumulation=True, entropy_checkpointing=False),
            "get_data_parallel_group": lambda: torch.distributed.group.WORLD,
            "get_data_parallel_size": lambda: 1,
        }
        for name, value in replaced.items():
            setattr(engine, name, value)
        engine.forward_backward_batch(
            batch_of(rows, old), lambda model_output, data, dp_group: ppo_loss(config, model_output, data, dp_group)
        )

    return step


def expected() -> dict[str, list[np.ndarray]]:
    window = [[length - PROMPT] for length in LENGTHS]
    return {
        "token-mean": closed_forms.aggregation.token_mean(window),
        "seq-mean-token-mean": closed_forms.aggregation.per_sequence_mean(window),
        "seq-mean-token-sum": closed_forms.aggregation.scaled(
            closed_forms.aggregation.token_sum(window), 1 / len(window)
        ),
        "seq-mean-token-sum-norm": closed_forms.aggregation.scaled(
            closed_forms.aggregation.token_sum(window), 1 / (len(window) * HORIZON)
        ),
        "token-sum": closed_forms.aggregation.token_sum(window),
    }


def main() -> None:
    transformer_impl.get_device_id = lambda: "cpu"
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT="29537")
    torch.distributed.init_process_group("gloo", rank=0, world_size=1)
    labelled = [[position >= PROMPT - 1 for position in range(length - 1)] for length in LENGTHS]
    forms = expected()
    for loss in ("vanilla", "gspo", "gpg", "cispo", "dppo_tv", "clip_cov", *OWN):
        for aggregation, form in forms.items():
            if loss in OWN and aggregation != OWN[loss]:
                continue
            report = xray(step_with(loss, aggregation), LENGTHS, labelled=labelled)
            measured = [np.asarray(weights)[PROMPT - 1 :] for weights in report.weights]
            ratio = np.concatenate(measured) / np.concatenate(form)
            verdict = "as the closed form" if np.allclose(ratio, 1, atol=1e-5) else "NOT the closed form"
            reach = f"measured / closed form from {ratio.min():.6f} to {ratio.max():.6f}"
            print(f"{loss:9} {aggregation:24} {verdict}, {reach}")
    torch.distributed.destroy_process_group()


if __name__ == "__main__":
    main()
