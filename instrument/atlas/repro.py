"""A script for each answer of the atlas that runs on its own and prints the same figure.

A script is the line that makes an architecture's config, and a tail that only depends on the check.
"""

from collections.abc import Callable
from typing import Any

from . import batches
from .build import Subject
from .heads import CAUSAL, HEADS
from .leaks import takes

Tail = Callable[[Subject], str]

IMPORTS = """import torch
from transformers import CONFIG_MAPPING, {auto}
"""
MODEL = """torch.manual_seed(0)
model = {auto}.from_config(config{chosen}).float().train()
for parameter in model.parameters():
    parameter.data.mul_(3.0)
"""
LEAKS = """from instrument import find_leaks

{model}batch = {{name: torch.tensor(values) for name, values in {lists}.items()}}
leaks = find_leaks(model, {{**batch{arguments}}})
print(leaks)
print("figure:", max((pair.gradient for pair in leaks.pairs), default=0.0) / leaks.own)
"""


def script(name: str, config_arguments: dict[str, Any], tail: str, head: str = CAUSAL) -> str:
    """The whole script."""
    imports, _, rest = tail.partition("\n\n")
    config = f"config = CONFIG_MAPPING[{name!r}](**{config_arguments!r})\n"
    return f"{IMPORTS.format(auto=HEADS[head].auto)}{imports}\n\n{config}{rest}"


def model(head: str, attention: str = "") -> str:
    """The lines that build the model from the config."""
    return MODEL.format(auto=HEADS[head].auto, chosen=f", attn_implementation={attention!r}" if attention else "")


def leaks(lists: batches.Lists, attention: str = "", **arguments: Any) -> Tail:
    """For a search for leaks in a batch."""

    def tail(subject: Subject) -> str:
        taken = "".join(f", {k!r}: {v!r}" for k, v in arguments.items() if takes(subject.model(), k))
        return LEAKS.format(model=model(subject.head, attention), lists=lists, arguments=taken)

    return tail


def called(where: str, call: str) -> Tail:
    """For a check that is a function of a model."""
    return lambda subject: (
        f"from instrument.atlas.{where} import {call.partition('(')[0]}\n\n{model(subject.head)}cell = {call}\n"
        'print(cell.said)\nprint("figure:", cell.figure)\n'
    )
