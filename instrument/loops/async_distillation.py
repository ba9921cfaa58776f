"""trl.experimental's real AsyncDistillationTrainer, driven on given completions that a given teacher has scored."""

import importlib
import queue
import tempfile
from collections.abc import Iterator, Sequence
from importlib.metadata import version
from typing import Any

import numpy as np
from datasets import Dataset

from ..objective_record import Taught
from .arguments import CHANGES as COMMON
from .installed import Installed
from .reference_free import experimental
from .refused import per_generation, refuse_missing, refuse_unknown_words
from .scored import Snapshots, peft_config_of, settings, tokenizer_of_words, words
from .stand_in import StandIn
from .taught import Answer, lessons, logits_of, teach

SAMPLE, SPEED = "RolloutSample", "get_peak_flops_per_device"
CHANGES = {
    **COMMON,
    "rollout_worker": "hands over the given completions, with the teacher's own log-probabilities at each token",
    "weight_transfer": "none: no server holds the student",
    "attn_implementation": "sdpa, since flash attention needs a GPU; position_ids tell documents apart all the same",
    SPEED: "gives None, which says that it is not known: it asks for a GPU, for the log alone",
    "token_budget": "0: per_device_train_batch_size completions per backward",
    "max_staleness": "as many as there are completions, since all are of the first policy",
}


class Worker:
    """A rollout worker, as TRL's ``RolloutWorkerProtocol`` says, that has everything ready."""

    def __init__(self, samples: Sequence[Any]) -> None:
        self.rollout_buffer: queue.Queue[Any] = queue.Queue()
        self.metrics_queue: queue.Queue[Any] = queue.Queue()
        for sample in samples:
            self.rollout_buffer.put(sample)

    def start(self) -> None:
        """Nothing is generated."""

    def stop(self) -> None:
        """Nothing runs."""

    def update_model_version(self, model_version: int) -> None:
        """Nothing is generated."""

    def check_health(self, stale_after_s: float) -> None:
        """Called where the trainer waits, which would be for ever.

        Raises:
            RuntimeError: in every case.
        """
        raise RuntimeError("the trainer waits for more completions than were given: it took other batches than asked")


class NoTransfer:
    """A weight transfer, as TRL's ``WeightTransferProtocol`` says, to no server."""

    def send_weights(self, iterator: Iterator[Any]) -> None:
        """Send nothing."""

    def init_weight_transfer(self) -> None:
        """Nothing is there to connect to."""

    pause = resume = destroy = init_weight_transfer


def run_async_distillation(
    model: Any, teacher: Any, answers: Sequence[Answer], *, peft: Any = None, micro_batch: int, **arguments: Any
) -> tuple[list[list[Taught]], dict[str, str]]:
    """Train for one epoch; the trainer loads the student from where it is saved for it.

    Args:
        model, teacher: student and teacher, of one vocabulary.
        answers: prompt and completion ids, as many as fill all windows; no prompt twice.
        peft: configuration of an adapter.
        micro_batch: completions per backward.
        arguments: further AsyncDistillationConfig, over the ones in CHANGES.

    Returns:
        [window][micro-batch], and the changes from the defaults.

    Raises:
        ValueError: an answer without a token, a prompt twice, answers that leave a window half full, or what
            AsyncDistillationConfig refuses.
        LookupError: what is installed has no such trainer, or none of the parts that it is handed.
    """
    refuse_missing(teacher, "teacher")
    kind, config = experimental("async_distillation", "AsyncDistillation")
    module = importlib.import_module("trl.experimental.async_distillation.async_rollout_worker")
    sample = getattr(module, SAMPLE, None)
    if sample is None:
        raise LookupError(f"trl {version('trl')}: {module.__name__} has no {SAMPLE}, to hand completions over")
    taken = per_generation(micro_batch, arguments)
    if len(answers) % taken:
        raise ValueError(f"a step takes {taken} answers, got {len(answers)}: give as many as fill all steps")
    script, snapshots = lessons(answers), Snapshots()
    refuse_unknown_words(script, model)
    top, temperature = arguments.get("teacher_top_k", 1), arguments.get("teacher_temperature", 1.0)
    samples = [
        sample(
            prompt=[],
            completion=[],
            **scored(teacher, prompt, completion, top, temperature),
            model_version=1,
            metrics={},
            teacher_id="default",
            prompt_id=number,
        )
        for number, (prompt, completion) in enumerate(answers)
    ]
    package = "trl.experimental.async_distillation.async_distillation_trainer"
    with tempfile.TemporaryDirectory() as folder, Installed(), StandIn(package, SPEED, lambda *_: None):
        model.save_pretrained(folder)
        trainer = kind(
            folder,
            args=settings(
                config,
                folder,
                per_device_train_batch_size=micro_batch,
                token_budget=0,
                max_staleness=len(answers),
                model_init_kwargs={"attn_implementation": "sdpa", "dtype": model.dtype},
                **arguments,
            ),
            train_dataset=Dataset.from_list([{"prompt": words(prompt)} for prompt, _ in answers]),
            processing_class=tokenizer_of_words(model.config.vocab_size, "left"),
            # The loader fetches a batch more than it hands out.
            rollout_worker=Worker([*samples, *samples[:micro_batch]]),
            weight_transfer=NoTransfer(),
            **peft_config_of(peft),
        )
        windows = teach(trainer, teacher, script, snapshots)
    return windows, dict(CHANGES)


def scored(teacher: Any, prompt: Sequence[int], completion: Sequence[int], top: int, t: float) -> dict[str, Any]:
    """A row as the worker would have the teacher score it: the most likely words at each token, and the token."""
    ids = np.array([*prompt, *completion])
    logits = logits_of(teacher, ids, {}) / t
    log_p = logits - np.logaddexp.reduce(logits, axis=1, keepdims=True)
    first = np.argsort(-log_p, axis=1, kind="stable")[:, :top]
    # A token that is among them stands there once; what is left is padded as the worker pads it.
    other = np.where((first == ids[1:, None]).any(1), -1, ids[1:])[:, None]
    found = np.where(other < 0, -np.inf, np.take_along_axis(log_p, np.maximum(other, 0), 1))
    told = np.append(first, other, axis=1), np.append(np.take_along_axis(log_p, first, 1), found, axis=1)
    before = np.full((1, top + 1), -1), np.full((1, top + 1), -np.inf)
    return {
        "input_ids": ids,
        "completion_mask": np.arange(ids.size) >= len(prompt),
        "teacher_topk_ids": np.append(before[0], told[0], axis=0),
        "teacher_topk_logprobs": np.append(before[1], told[1], axis=0),
    }
