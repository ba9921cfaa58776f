"""The checks of adapters for `weighbridge report`: which parameters a gradient reaches, and what the tokens weigh."""

import importlib.util
from collections.abc import Callable
from typing import Any

from closed_forms import aggregation

from .api import expected_weights
from .probe import tracer_rows
from .report.report import Report
from .tiny import tiny_policy

LENGTHS = (5, 3, 6, 4)
VOCABULARY = 61
REACHED = "token mean, every trainable parameter reached"
Check = tuple[str, str, Callable[[], Report], Callable[[Report, list[float]], tuple[str, str, float]]]


def peft_checks() -> list[Check]:
    """Name, what is expected in words, what to run, and the judgement; none where PEFT is not installed."""
    if importlib.util.find_spec("peft") is None:
        return []
    attention: dict[str, Any] = {"target_modules": ["q_proj", "v_proj"]}
    everywhere: dict[str, Any] = {"target_modules": ["q_proj", "down_proj"], "modules_to_save": ["lm_head"]}
    return [
        # B is zero at the start, so A gets a gradient of exactly zero: that is how LoRA begins, and no fault.
        ("LoRA", REACHED, adapter(**attention), reached),
        ("LoRA on every linear", REACHED, adapter(target_modules="all-linear"), reached),
        ("LoRA, drawn", REACHED, adapter(init_lora_weights=False, **attention), reached),
        ("LoRA, rank-stabilized", REACHED, adapter(use_rslora=True, **attention), reached),
        ("LoRA on the embeddings", REACHED, adapter(target_modules=["embed_tokens", "q_proj"]), reached),
        ("LoRA with a trained head", REACHED, adapter(**everywhere), reached),
        ("DoRA", REACHED, adapter(use_dora=True, **attention), reached),
        ("LoRA with a trained head, reentrant", REACHED, adapter(checkpointing=True, **everywhere), cut_off),
    ]


def adapter(checkpointing: bool = False, **options: Any) -> Callable[[], Report]:
    """A run of the Trainer; options of LoraConfig."""

    def run() -> Report:
        from .loops.adapters import adapted, run_adapter

        model = adapted(tiny_policy(VOCABULARY), **options)
        return run_adapter(model, tracer_rows(LENGTHS), checkpointing=checkpointing)

    return run


def reached(report: Report, logged: list[float]) -> tuple[str, str, float]:
    """The token mean, and nothing wrong with the gradient of any parameter that trains."""
    deviation = report.deviation_from(expected_weights(report, aggregation.token_mean))
    said = [told for verdict in report.verdicts for told in (*verdict.faults, *verdict.remarks)]
    window = report.windows[0]
    whole = report.ok and window.reached == window.trainable
    text = f"token mean, {window.reached} of {window.trainable} parameters reached"
    return (text, "ok", deviation) if whole else ("; ".join(said) or text, "FAULT", deviation)


def cut_off(report: Report, logged: list[float]) -> tuple[str, str, float]:
    """All reached is right; that no layer below the head is, with weights that look right, is known."""
    said, status, deviation = reached(report, logged)
    window = report.windows[0]
    faults = [fault for verdict in report.verdicts for fault in verdict.faults]
    if status == "ok" or window.reached != 1 or not all("parameters reached" in fault for fault in faults):
        return said, status, deviation
    return (
        f"the head alone, 1 of {window.trainable}: checkpointing runs on inputs without a gradient",
        "known",
        deviation,
    )
