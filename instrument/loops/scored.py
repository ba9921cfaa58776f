"""Drives a real TRL trainer and asks for the log-probabilities that its loss should have used, once more and apart.

The rows come from the live record; their log-probabilities from plain forwards without TRL's fused head, at the
parameters that each window really had. Nothing here is taken from the trainer's loss.
"""

import copy
import sys
from collections.abc import Callable, Mapping, Sequence
from importlib.metadata import version
from typing import Any, NamedTuple, TypeVar

import numpy as np
import torch
from numpy.typing import NDArray
from tokenizers import pre_tokenizers
from transformers import PreTrainedTokenizerFast, PrinterCallback, TrainerCallback

from ..capture import Replay
from ..gathering import place
from ..live_record import LiveRecorder
from ..locate import locate
from ..objective_record import Driven, Scored
from ..probe import PAD
from ..record import Floats, Row
from .arguments import TRL_CHANGES, logged, of_trl
from .data import tokenizer_of_ids
from .installed import Installed, OldNames
from .refused import refuse_missing, refuse_no_count, refuse_unknown_choices, refuse_unknown_loss, refuse_unknown_words

Parameters = dict[str, torch.Tensor]
Ids = tuple[int, ...]
Script = Mapping[Ids, tuple[int, Sequence[bool]]]
Given = TypeVar("Given")

CHANGES = {
    **TRL_CHANGES,
    "model": "float64; TRL's fused head computes the softmax in float32 all the same",
    "optim": "sgd, so that a step can be made as large as an off-policy window needs",
}


def settings(config: Any, folder: str, **given: Any) -> Any:
    """Arguments of a trainer: TRL's own, with CHANGES and then the given ones over them.

    Raises:
        ValueError: a count that is none, a loss that the trainer has not, or a word that is no choice of an option.
    """
    refuse_no_count(**given)
    refuse_unknown_loss(config, given.get("loss_type"))
    refuse_unknown_choices(config, given)
    return of_trl(config, folder, **{"optim": "sgd", "learning_rate": 0.05, **given})


class Snapshots(TrainerCallback):  # type: ignore[misc]
    """Keeps the parameters of each optimizer step, and of each generation, with the window in which it began."""

    def __init__(self) -> None:
        self.windows: list[Parameters] = []
        self.generations: list[tuple[list[int], Parameters]] = []
        self.began: list[int] = []
        self.last: list[int] = []

    def on_pre_optimizer_step(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        self.windows.append(trained(kwargs["model"]))
        self.last.append(len(self.generations))

    def generated(self, model: Any, numbers: list[int]) -> None:
        """Note that the model, as it is now, generates the completions of these numbers."""
        self.generations.append((numbers, trained(model)))
        self.began.append(len(self.windows))

    def origin(self, window: int, numbers: Sequence[int]) -> int:
        """The last generation before the end of a window that holds these completions; -1 where there was none."""
        wanted = {number for number in numbers if number >= 0}
        return max((g for g in range(self.last[window]) if wanted <= set(self.generations[g][0])), default=-1)


def trained(model: Any) -> Parameters:
    """A copy of the parameters that train."""
    return {name: p.detach().clone() for name, p in model.named_parameters() if p.requires_grad}


def drive(trainer: Any, script: Script, snapshots: Snapshots, reference: Any, judged: "Judged | None" = None) -> Driven:
    """Train, and gather what the closed forms need; a trainer in bfloat16 is read by ``half.drive_half``.

    Args:
        trainer: built, not yet run.
        script: ids of each row that may run, to its number and to [n] whether token 1, 2, ... of it is scored.
        snapshots: told of each generation by whoever generates.
        reference: the reference model, or None.
        judged: of rows and a window what stands for the reference's answer, where that is not asked at these rows.

    Raises:
        ValueError: a row of the script holds an id that the model does not know.
        RuntimeError: the trainer ran a row that the script does not hold.
    """
    refuse_unknown_words(script, trainer.model)
    judged = judged or (None if reference is None else lambda ids, window: log_probabilities(reference, ids, {}))
    if trainer.args.bf16:
        # Imported here: it needs what stands below.
        from .half import drive_half

        return drive_half(trainer, script, snapshots, reference)
    # Releases that hand the model no labels say nothing of a window of which every token is clipped.
    recorder = LiveRecorder(locate(trainer.model), silent=True)
    trainer.remove_callback(PrinterCallback)
    trainer.add_callback(snapshots)
    with recorder.capture, Installed():
        trainer.train()
    record = recorder.record
    # The gradient leaves TRL's head as float32, and is made float64 behind it.
    record.work_dtype = "float32"
    record.logged.extend(logged(trainer))
    windows = []
    for number, window in enumerate(record.windows):
        batches = [[row for row in window.rows if row.micro_batch == k] for k in range(window.micro_batches)]
        windows.append([scored(trainer.model, rows, script, snapshots, number, judged) for rows in batches if rows])
    return Driven(record, windows, [numbers for numbers, _ in snapshots.generations])


def scored(
    model: Any,
    rows: list[Row],
    script: Script,
    snapshots: Snapshots,
    window: int,
    judged: "Judged | None",
) -> Scored:
    """One micro-batch, its rows scored anew."""
    ids = [row.ids for row in rows]
    found = looked_up(ids, script)
    numbers = [number for number, _ in found]
    policy = log_probabilities(model, ids, snapshots.windows[window])
    origin = snapshots.origin(window, numbers)
    old = policy if origin < 0 else log_probabilities(model, ids, snapshots.generations[origin][1])
    base = None if judged is None else judged(ids, window)
    models = [policy, old] if base is None else [policy, old, base]
    largest = [np.maximum.reduce(sizes) for sizes in zip(*(model.largest for model in models))]
    return Scored(
        np.array(numbers),
        padded([marks for _, marks in found], np.bool_),
        padded([row.weight for row in rows]),
        padded([row.uniform for row in rows]),
        padded([np.nan_to_num(row.amplification) for row in rows]),
        padded(policy.log_p),
        padded(old.log_p),
        padded([np.zeros_like(values) for values in policy.log_p] if base is None else base.log_p),
        padded(policy.entropy),
        padded(policy.concentration),
        padded(largest),
        origin,
    )


def looked_up(rows: Sequence[NDArray[np.int64]], script: Mapping[Ids, Given]) -> list[Given]:
    """What the script says of each row.

    Raises:
        RuntimeError: it does not hold one of them.
    """
    unknown = [row.tolist() for row in rows if tuple(row.tolist()) not in script]
    if unknown:
        raise RuntimeError(
            f"the trainer ran the row {unknown[0]}, which is none of the {len(script)} that were given: "
            f"trl {version('trl')} is fed through another seam than this loop uses"
        )
    return [script[tuple(row.tolist())] for row in rows]


def padded(values: Sequence[Any], kind: Any = np.float64) -> Any:
    """[b, t] with 0 behind the end of each row."""
    table = np.zeros((len(values), max(len(value) for value in values)), kind)
    for b, value in enumerate(values):
        table[b, : len(value)] = value
    return table


class Asked(NamedTuple):
    """[row][n] log p of each next token; entropy, log sum_v p(v)^2 and largest |logit| of what it was drawn from."""

    log_p: list[Floats]
    entropy: list[Floats]
    concentration: list[Floats]
    largest: list[Floats]


Judged = Callable[[list[NDArray[np.int64]], int], Asked]


def log_probabilities(model: Any, rows: Sequence[NDArray[np.int64]], parameters: Parameters) -> Asked:
    """Score rows by the model's own logits.

    Args:
        model: in any mode; it is run in evaluation mode, by its own forward.
        rows: [row][n + 1] ids; the padding behind a row is seen by none of its tokens.
        parameters: put in the place of the model's own while it runs.
    """
    width = max(ids.size for ids in rows)
    ids_bt = torch.full((len(rows), width), PAD)
    for b, ids in enumerate(rows):
        ids_bt[b, : ids.size] = torch.as_tensor(ids)
    training = model.training
    model.eval()
    with Replay(), torch.no_grad():
        arguments = {"input_ids": ids_bt, "use_cache": False}
        logits = torch.func.functional_call(model, parameters, (), arguments).logits[:, :-1].double()
    model.train(training)
    tables = asked_of(logits, ids_bt)
    return Asked(*([table[b, : ids.size - 1].numpy() for b, ids in enumerate(rows)] for table in tables))


def asked_of(logits: torch.Tensor, ids_bt: torch.Tensor) -> list[torch.Tensor]:
    """[b, t] of each field of Asked; logits: [b, t, v] at all places but the last."""
    log_p = torch.log_softmax(logits, -1)
    chosen = log_p.gather(-1, ids_bt[:, 1:, None])[..., 0]
    return [chosen, -(log_p.exp() * log_p).sum(-1), (2 * log_p).logsumexp(-1), logits.abs().amax(-1)]


def words(ids: Sequence[int]) -> str:
    """Ids as a text that the tokenizer reads back."""
    return " ".join(f"<{i}>" for i in ids)


def tokenizer_of_words(vocabulary: int, padding_side: str = "right") -> PreTrainedTokenizerFast:
    """A tokenizer that knows ids as words, and takes a text apart at its spaces."""
    tokenizer = tokenizer_of_ids(vocabulary, padding_side=padding_side)
    tokenizer.backend_tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    return tokenizer


def keep_as_reference(model: Any, reference: Any, folder: str) -> None:
    """Save a model where TRL looks for the reference of `model`: at the path that its config names.

    Raises:
        ValueError: there is no reference.
    """
    refuse_missing(reference, "reference")
    reference.save_pretrained(folder)
    written = [folder]
    if place()[1] > 1:
        # transformers writes on the first rank alone.
        torch.distributed.broadcast_object_list(written)
    model.config._name_or_path = written[0]


def as_reference(kind: Any, reference: Any, peft: Any) -> dict[str, Any]:
    """The reference as an argument of a trainer of a release that would else copy the policy, and load none."""
    # A trainer that has moved into trl.experimental leaves a class of its name behind.
    copies = any(hasattr(sys.modules[each.__module__], "create_reference_model") for each in kind.__mro__)
    return {"ref_model": copy.deepcopy(reference)} if copies and peft is None else {}


def peft_config_of(peft: Any) -> dict[str, Any]:
    """The configuration of an adapter as an argument of a trainer; nothing where there is none."""
    return {} if peft is None else {"peft_config": peft}


def copy_with(model: Any, peft: Any) -> Any:
    """A copy of a model with a new adapter, its parameters named as those of a trainer's model."""
    from peft import get_peft_model

    # PEFT notes in a configuration where its model comes from, and warns when it is used for another.
    with OldNames():
        return get_peft_model(copy.deepcopy(model), copy.deepcopy(peft))


def lora(modules: Sequence[str], task: str = "CAUSAL_LM", zero: bool = False) -> Any:
    """Configuration of a LoRA adapter on these modules, drawn and not zero at first unless asked to be."""
    from peft import LoraConfig

    return LoraConfig(r=4, target_modules=list(modules), task_type=task, init_lora_weights=zero)


def asked_behind(
    model: Any,
    parameters: Parameters,
    contexts: Sequence[Sequence[int]],
    rows: Sequence[NDArray[np.int64]],
    completions: Sequence[Sequence[int]],
) -> Asked:
    """``log_probabilities`` of the completions that rows end with, each behind a context in the place of its prompt.

    Returns:
        As ``log_probabilities`` of the rows, 0 at their prompts.
    """
    read = [np.array([*context, *completion]) for context, completion in zip(contexts, completions)]

    def at_the_rows(table: list[Floats]) -> list[Floats]:
        return [
            np.concatenate([np.zeros(len(row) - 1 - len(completion)), values[-len(completion) :]])
            for values, row, completion in zip(table, rows, completions)
        ]

    return Asked(*map(at_the_rows, log_probabilities(model, read, parameters)))
