"""Drives a real TRL trainer in bfloat16, and reads the weights where rounding lets them be told: at the head's output.

In bfloat16 the logits are rounded to 8 bits, so a gradient behind the head says no weight to 1 %. The loss itself is
computed in float32 from float32 log-probabilities. So the weight is read as the gradient that reaches them, and they
are asked for once more from the same forward: the same batch, parameters and autocast, with the plain head, whose
bfloat16 logits are the same bits, and a softmax in float64.
"""

from importlib.metadata import version
from typing import Any, NamedTuple

import numpy as np
import torch
from transformers import PrinterCallback

from ..capture import Replay
from ..objective_record import Driven, Scored
from ..record import Floats, Record
from .arguments import logged
from .installed import Installed
from .scored import Asked, Parameters, Script, Snapshots, asked_of, looked_up, padded


class Backward(NamedTuple):
    """The window and the arguments of a forward, and [b, n] what came back to the log p of its tokens 1, 2, ..."""

    window: int
    inputs: dict[str, Any]
    gradient: Floats


class HeadReader:
    """While entered, keeps every forward of a model whose log-probabilities get a gradient.

    Attributes:
        found: in the order of the gradients.
    """

    def __init__(self, model: torch.nn.Module, snapshots: Snapshots) -> None:
        self.model, self.snapshots = model, snapshots
        self.found: list[Backward] = []

    def __enter__(self) -> "HeadReader":
        self.handle = self.model.register_forward_hook(self.take, with_kwargs=True)
        return self

    def __exit__(self, *_: object) -> None:
        self.handle.remove()

    def take(self, model: torch.nn.Module, args: Any, inputs: dict[str, Any], output: Any) -> None:
        """Wait for the gradient of one forward."""
        log_p = getattr(output, "log_probs", None)
        if log_p is None or not log_p.requires_grad:
            return

        def arrive(gradient: torch.Tensor) -> None:
            # Where no label stands the head puts a 0, and lets no gradient through.
            through = gradient.double() * output.label_mask
            self.found.append(Backward(len(self.snapshots.windows), inputs, through.numpy()))

        log_p.register_hook(arrive)


def drive_half(trainer: Any, script: Script, snapshots: Snapshots, reference: Any) -> Driven:
    """As ``scored.drive``, for a trainer in bfloat16.

    Raises:
        RuntimeError: the trainer ran a row that the script does not hold, or the padding of one has a gradient.
        LookupError: the model of the installed release gives no log-probabilities with a gradient.
    """
    trainer.remove_callback(PrinterCallback)
    trainer.add_callback(snapshots)
    with HeadReader(trainer.model, snapshots) as reader, Installed():
        trainer.train()
    if not reader.found:
        raise LookupError(f"trl {version('trl')}: its head gives no log_probs, at which bfloat16 can be read")
    record = Record("live", "the log-probabilities", trainer.model.config.vocab_size, "float32", "float32")
    record.logged.extend(logged(trainer))
    windows: list[list[Scored]] = [[] for _ in snapshots.windows]
    for backward in reader.found:
        windows[backward.window].append(one_batch(trainer, backward, script, snapshots, reference))
    return Driven(record, windows, [numbers for numbers, _ in snapshots.generations])


def one_batch(trainer: Any, backward: Backward, script: Script, snapshots: Snapshots, reference: Any) -> Scored:
    """One micro-batch, scored anew."""
    ids_bt, seen_bt = backward.inputs["input_ids"], backward.inputs["attention_mask"].bool()
    found = looked_up([ids[seen].numpy() for ids, seen in zip(ids_bt, seen_bt)], script)
    numbers = [number for number, _ in found]
    # Padding stands on the left of a prompt, or on the right of a completion.
    inside_bn = (seen_bt[:, 1:] & seen_bt[:, :-1]).numpy()
    if np.any(backward.gradient[~inside_bn]):
        raise RuntimeError(f"trl {version('trl')}: the padding of completions {numbers} has a gradient: it is no token")
    policy = replayed(trainer.model, backward.inputs, snapshots.windows[backward.window])
    origin = snapshots.origin(backward.window, numbers)
    old = policy if origin < 0 else replayed(trainer.model, backward.inputs, snapshots.generations[origin][1])
    base = None
    if reference is not None:
        base = replayed(trainer.ref_model, backward.inputs, dict(reference.named_parameters()))

    def rows(table: Any) -> Floats:
        return np.asarray(padded([row[inside] for row, inside in zip(table, inside_bn)]))

    weight = rows(-backward.gradient)
    return Scored(
        np.array(numbers),
        padded([marks for _, marks in found], np.bool_),
        weight,
        np.zeros_like(weight),
        np.zeros_like(weight),
        rows(policy.log_p),
        rows(old.log_p),
        np.zeros_like(weight) if base is None else rows(base.log_p),
        rows(policy.entropy),
        rows(policy.concentration),
        np.maximum.reduce([rows(asked.largest) for asked in (policy, old, base) if asked is not None]),
        origin,
    )


def replayed(model: Any, inputs: dict[str, Any], parameters: Parameters) -> Asked:
    """[b, n] of the model's own bfloat16 logits, at other parameters; the softmax is float64."""
    given = {name: inputs[name] for name in ("input_ids", "attention_mask")}
    with Replay(), torch.no_grad():
        logits = (
            torch.func.functional_call(model, parameters, (), {**given, "use_cache": False}).logits[:, :-1].double()
        )
    return Asked(*(list(table.numpy()) for table in asked_of(logits, inputs["input_ids"])))
