"""The leak checks of `weighbridge report`: documents batched in each way, and which of them read each other."""

from collections.abc import Callable
from typing import Any

import numpy as np

from closed_forms import leaks

from . import probe
from .leak import find_leaks
from .leak_probe import build_leak_probe
from .leak_record import LeakRun, Leaks
from .leak_sequences import by_token
from .leak_watch import watch_leaks
from .loops import trainer
from .record import Bools

PACKS = ((9, 3), (5, 7), (6, 6), (8, 4))


def lengths() -> list[int]:
    """Lengths of the documents; two fill a pack of 12 tokens, whatever the strategy of packing."""
    return [n for pack in PACKS for n in pack]


def padded() -> LeakRun:
    """Padded rows through the Trainer, on Llama and on Mamba; the one that leaks, if any."""
    runs = [in_trainer("llama"), in_trainer("mamba", state_size=4)]
    return next((run for run in runs if run.leaks), runs[0])


def flattened() -> LeakRun:
    """DataCollatorWithFlattening through the Trainer."""
    from transformers import DataCollatorWithFlattening  # since 4.44

    return in_trainer("llama", DataCollatorWithFlattening(), "DataCollatorWithFlattening")


def in_trainer(kind: str, collator: Any = None, called: str = "", **config: Any) -> LeakRun:
    """All documents in one batch of the Trainer."""
    rows = probe.tracer_rows(lengths())
    model = build_leak_probe(probe.vocabulary_for(rows), kind, **config)
    with watch_leaks(model, by_token(rows)) as found:
        trainer.run_trainer(model, rows, micro_batch=len(rows), collator=collator)
    return LeakRun(found[0], {**trainer.CHANGES, **({"data_collator": called} if called else {})})


def called(**arguments: Any) -> Callable[[], LeakRun]:
    """The model called with a flattened batch; an argument that is None is left out of it."""

    def run() -> LeakRun:
        from transformers import DataCollatorWithFlattening

        rows = probe.tracer_rows(lengths())
        model = build_leak_probe(probe.vocabulary_for(rows))
        batch = {**DataCollatorWithFlattening()([{"input_ids": row} for row in rows]), **arguments}
        batch = {name: value for name, value in batch.items() if value is not None}
        return LeakRun(find_leaks(model, batch, by_token(rows)(batch)), {})

    return run


def in_sft(**arguments: Any) -> Callable[[], LeakRun]:
    """All documents in one batch of TRL's SFTTrainer."""

    def run() -> LeakRun:
        from .loops import sft

        rows = probe.tracer_rows(lengths())
        model = build_leak_probe(probe.vocabulary_for(rows))
        with watch_leaks(model, by_token(rows)) as found:
            sft.run_sft(model, rows, micro_batch=len(rows), **arguments)
        return LeakRun(found[0], sft.CHANGES)

    return run


def apart(measured: LeakRun, logged: list[float]) -> tuple[str, str, float]:
    """No document may read another one."""
    return judged(measured.leaks, None, "")


def one_after_another(measured: LeakRun, logged: list[float]) -> tuple[str, str, float]:
    """That each document reads all before it is known."""
    n = len(measured.leaks.sequences)
    known = f"each of {n} documents reads all those before it"
    return judged(measured.leaks, leaks.lower_triangular(lengths()), known)


def within_packs(measured: LeakRun, logged: list[float]) -> tuple[str, str, float]:
    """That each document reads those before it in its pack is known."""
    known = f"in each of {len(PACKS)} packs a document reads those before it"
    return judged(measured.leaks, leaks.rows_of_packs(PACKS), known)


def judged(found: Leaks, pattern: Bools | None, known: str) -> tuple[str, str, float]:
    """Judge a search: ok without a leak, known with exactly that pattern, FAULT with another one; and its size."""
    largest = max((pair.gradient for pair in found.pairs), default=0.0) / found.own
    if not found:
        return "exactly 0.0 at every foreign token", "ok", largest
    if pattern is not None and np.array_equal(found.pattern(), pattern) and not found.ahead:
        return known, "known", largest
    return str(found).splitlines()[0], "FAULT", largest
