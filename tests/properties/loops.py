"""Every loop under every instrument: one call that trains and gives back a report."""

import torch
from transformers import LlamaConfig, LlamaForCausalLM

from instrument import make_batch, tracer_rows, watch, xray_rows
from instrument.loops.accelerate_loop import run_accelerate
from instrument.loops.trainer import run_trainer

VOCABULARY = 61


def run_by_hand(model, rows, labels, *, micro_batch, accumulation, padding_side="right", pad_to=0, reduce=None, lr=0.0):
    """A loop that somebody wrote: cross-entropy summed by hand over a window and divided once by its targets.

    `reduce(losses_bn, targets, loss)` may stand for another reduction of one micro-batch's losses.
    """
    optimizer = torch.optim.SGD([p for p in model.parameters() if p.requires_grad], lr=lr)
    batches = [
        make_batch(rows[i : i + micro_batch], labels[i : i + micro_batch], padding_side=padding_side, pad_to=pad_to)
        for i in range(0, len(rows), micro_batch)
    ]
    logged = []
    for start in range(0, len(batches), accumulation):
        window = batches[start : start + accumulation]
        targets = sum(int((batch["labels"][:, 1:] != -100).sum()) for batch in window)
        total = 0.0
        for batch in window:
            labels_bt = batch["labels"]
            logits = model(**batch).logits[:, :-1]
            losses = torch.nn.functional.cross_entropy(
                logits.transpose(1, 2), labels_bt[:, 1:], ignore_index=-100, reduction="none"
            )
            loss = losses.sum() / targets if reduce is None else reduce(losses, labels_bt[:, 1:] != -100, targets)
            loss.backward()
            total += float(loss.detach())
        optimizer.step()
        optimizer.zero_grad()
        logged.append(total)
    return logged


LOOPS = {"trainer": run_trainer, "accelerate": run_accelerate, "by hand": run_by_hand}


def live_model(seed, dtype=torch.float32, **config):
    """A small Llama with live attention, its weights larger than at initialisation so that losses differ by token."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        settings = {
            "vocab_size": VOCABULARY,
            "hidden_size": 32,
            "intermediate_size": 48,
            "num_hidden_layers": 2,
            "num_attention_heads": 4,
            "num_key_value_heads": 2,
            "pad_token_id": 0,
        }
        model = LlamaForCausalLM(LlamaConfig(**{**settings, **config})).to(dtype)
        for parameter in model.parameters():
            parameter.data.mul_(3)
    return model


def live_rows(lengths, seed):
    """Rows of ids that repeat, as real text does."""
    drawn = torch.Generator().manual_seed(seed)
    return [torch.randint(3, VOCABULARY, (n,), generator=drawn).tolist() for n in lengths]


def labels_of(rows, labelled):
    """Labels that score the marked targets and nothing else. A first token's label stays: no loss may count it."""
    return [
        [row[0]] + [token if mark else -100 for token, mark in zip(row[1:], marks)]
        for row, marks in zip(rows, labelled)
    ]


def measure(instrument, loop, shape, prepare=lambda model: None, **options):
    """Run a loop under the probe or the live instrument, on a model that `prepare` may change first.

    Returns:
        The report, its rows in the order of the shape's rows, and what the loop logged.
    """
    logged = []
    settings = {"micro_batch": shape.micro_batch, "accumulation": shape.accumulation, **options}
    if instrument == "probe":
        rows = tracer_rows(shape.lengths, shape.seed)

        def step(model, rows):
            prepare(model)
            logged.extend(LOOPS[loop](model, rows, labels_of(rows, shape.labelled), **settings))

        return xray_rows(step, rows, shape.seed, labelled=shape.labelled), logged
    model, rows = live_model(shape.seed), live_rows(shape.lengths, shape.seed)
    prepare(model)
    with watch(model) as report:
        logged.extend(LOOPS[loop](model, rows, labels_of(rows, shape.labelled), **settings))
    return report, logged
