"""Named runs of real loops, watched with their optimizer, in which faults behind backward show."""

import warnings

import torch
from accelerate import Accelerator
from transformers import Trainer, TrainingArguments

from instrument import make_batch, watch
from instrument.loops.arguments import of_trainer
from instrument.loops.data import Rows, padding_collator
from tests.instrument import models

ROWS = [[5, 9, 7, 5, 11, 6], [8, 5, 4, 9, 7], [12, 6, 10], [7, 13, 9, 4]]


def gradient_norms(model, batches, ran=None):
    """[p] norms of the gradient of one window, by autograd, on the model as it is; nothing of it is left.

    `ran` is the number of its micro-batches that have run so far; all when left out.
    """
    targets = sum(int((batch["labels"][:, 1:] != -100).sum()) for batch in batches)
    for batch in batches[:ran]:
        n = int((batch["labels"][:, 1:] != -100).sum())
        (model(**batch).loss * (n / targets)).backward()
    found = [float(p.grad.double().norm()) for p in model.parameters()]
    model.zero_grad()
    return found


def step_scaled():
    """One step by hand under a loss scale, with a clip that has nothing to clip: one that binds hides a wrong scale."""
    model, batches = models.llama(), [make_batch(ROWS[:2]), make_batch(ROWS[2:])]
    norms = gradient_norms(model, batches)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    scaler = torch.amp.GradScaler("cpu", init_scale=1024.0)
    targets = sum(int((batch["labels"][:, 1:] != -100).sum()) for batch in batches)
    with watch(model, optimizer, max_norm=5.0) as report:
        for batch in batches:
            loss = model(**batch).loss * (int((batch["labels"][:, 1:] != -100).sum()) / targets)
            scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        torch.nn.utils.clip_grad_norm_(model.parameters(), 5.0)
        scaler.step(optimizer)
        scaler.update()
    return report, [{"norms": norms, "max_norm": 5.0, "scale": 1024.0}]


def step_trainer():
    """Two windows of the Trainer, with weight decay and a clip; a learning rate of 0 keeps the gradients known."""
    model = models.llama()
    arguments = of_trainer(
        TrainingArguments,
        ".",
        per_device_train_batch_size=1,
        gradient_accumulation_steps=2,
        remove_unused_columns=False,
        learning_rate=0.0,
        max_grad_norm=0.5,
        weight_decay=0.1,
        optim="adamw_torch",
    )
    trainer = Trainer(
        model=model, args=arguments, train_dataset=Rows(ROWS, None), data_collator=padding_collator("right", 0)
    )
    flat = [p.dim() < 2 for p in model.parameters()]
    windows = [[make_batch([row]) for row in rows] for rows in (ROWS[:2], ROWS[2:])]
    norms = [(gradient_norms(model, window), gradient_norms(model, window, 1)) for window in windows]
    with watch(model, trainer.create_optimizer(), max_norm=0.5) as report:
        trainer.train()
    told = {"max_norm": 0.5, "scale": 1.0, "flat": flat, "decay": 0.1, "micro_batches": 2}
    return report, [{"norms": whole, "first_norms": first, **told} for whole, first in norms]


def step_accelerate():
    """Two windows of an accelerate loop of two micro-batches each, under a schedule."""
    accelerator = Accelerator(cpu=True, gradient_accumulation_steps=2)
    model = models.llama()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: max(0.0, 1 - step / 8))
    model, optimizer, schedule = accelerator.prepare(model, optimizer, schedule)
    with warnings.catch_warnings(), watch(model, optimizer) as report:
        # What torch tells of a schedule that advances before the optimizer is the fault itself.
        warnings.filterwarnings("ignore", "Detected call of `lr_scheduler.step", UserWarning)
        for row in ROWS:
            with accelerator.accumulate(model):
                accelerator.backward(model(**make_batch([row])).loss)
                optimizer.step()
                schedule.step()
                optimizer.zero_grad()
    told = {"micro_batches": 2, "rate": 0.1, "steps": 8}
    return report, [{"number": number, **told} for number in range(2)]


def with_saved_head():
    """A model with LoRA and a head that is trained whole, and the names of what should train."""
    model = models.with_lora(modules_to_save=["lm_head"])
    return model, [name for name, _ in model.named_parameters() if "lora_" in name or "modules_to_save" in name]


def adapted(model):
    """One window of two micro-batches of what trains in a model."""
    optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=0.1)
    with watch(model, optimizer) as report:
        for rows in (ROWS[:2], ROWS[2:]):
            model(**make_batch(rows), use_cache=False).loss.backward()
        optimizer.step()
    return report


def checkpointed(reentrant):
    """One window of two micro-batches: LoRA and a head that is trained whole, under checkpointing of either kind."""
    with warnings.catch_warnings():
        # What torch tells of a block whose inputs are frozen is the fault itself.
        warnings.filterwarnings("ignore", "None of the inputs have requires_grad=True", UserWarning)
        model, names = with_saved_head()
        model.get_base_model().activation_checkpointing_enable({"use_reentrant": reentrant})
        if reentrant:
            model.get_base_model().enable_input_require_grads()
        model.train()
        report = adapted(model)
    return report, [{"parameters": names, "micro_batches": 2}]


def step_adapter():
    """One window through adapters and a saved head, under re-entrant checkpointing."""
    return checkpointed(True)


def step_checkpointed():
    """One window through adapters and a saved head, under checkpointing that is not re-entrant."""
    return checkpointed(False)


def step_lora():
    """One window of two micro-batches through adapters and a saved head, of which every parameter is looked at."""
    model, names = with_saved_head()
    every = [name for name, _ in model.named_parameters() if "original_module" not in name]
    told = {"parameters": every, "trains": [name in names for name in every], "micro_batches": 2}
    return adapted(model), [told]


def reach_of(report, arguments):
    """Whether a gradient came to each of the parameters that should train, in each micro-batch."""
    found = []
    for window, known in zip(report.windows, arguments):
        reach = window.after.reach
        rows = dict(zip(reach.names, reach.nonzero))
        nothing = [False] * known["micro_batches"]
        found += [float(x) for name in known["parameters"] for x in rows.get(name, nothing)]
    return found


def shares_of(report, arguments):
    """How often the gradient before, and each micro-batch, is in the gradient of each window."""
    return [x for window in report.windows for x in window.after.sums[0].shares]


def factors_of(report, arguments):
    """By what each gradient was multiplied between the last backward and the step."""
    return [x for window in report.windows for x in window.after.factor()]


def groups_of(report, arguments):
    """How many places of the optimizer's groups hold each parameter."""
    return [x for window in report.windows for x in window.after.step.groups]


def decay_of(report, arguments):
    """Weight decay of each parameter."""
    return [x for window in report.windows for x in window.after.step.decay]


def steps_of(report, arguments):
    """Steps of the optimizer in each window."""
    return [window.after.step.steps for window in report.windows]


def rates_of(report, arguments):
    """Learning rate of each window."""
    return [window.after.step.rate[0] for window in report.windows]


UPDATES = (step_scaled, step_trainer, step_accelerate, step_adapter, step_checkpointed, step_lora)
READINGS = {
    "reach": reach_of,
    "shares": shares_of,
    "clip": factors_of,
    "groups": groups_of,
    "decay": decay_of,
    "steps": steps_of,
    "rate": rates_of,
}
