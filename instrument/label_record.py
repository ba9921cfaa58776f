"""From gradients at the logits of a head that scores its labels in place to a record of windows.

Such heads class tokens or rows, fill in masked tokens, choose among rows, or decode what an encoder read. What comes
between the loss and the logits is read; what is behind the logits, as by the live instrument, is not.

Letters: b rows, n targets.
"""

import re
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor, nn

from .capture import Capture, Replay
from .captured import CapturedWindow
from .forward import Forward, token_ids
from .gathering import note
from .half_precision import rounded_amplification
from .leak_loss import named
from .locate import unwrapped
from .logits import kind_of, read_rows
from .record import Record, Row, Window
from .refusals import refuse_compiled


def scores_labels_in_place(model: Any) -> bool:
    """Whether transformers' class of this model, or of what it wraps, has such a head."""
    inner: Any = unwrapped(model)
    name = type(inner).__name__
    # The last two, which train a causal or a masked model, never shift.
    kinds = "For(SequenceClassification|TokenClassification|MaskedLM|MultipleChoice)|^(XLM|Flaubert)WithLMHeadModel"
    if re.search(f"({kinds})$", name):
        return hasattr(inner, "config")
    encodes = getattr(getattr(inner, "config", None), "is_encoder_decoder", False) is True
    return encodes and getattr(inner, "get_output_embeddings", lambda: None)() is not None


def classes_of_its_own(model: Any) -> bool:
    """Whether what a head is scored on is a class, and no token."""
    return bool(re.search("For(SequenceClassification|TokenClassification|MultipleChoice)$", type(model).__name__))


class LabelRecorder:
    """Reads each gradient as it arrives and keeps numbers only; see LiveRecorder."""

    def __init__(self, model: nn.Module) -> None:
        refuse_compiled(model)
        self._model: Any = unwrapped(model)
        where = f"the logits of {type(self._model).__name__}"
        self.record = Record("live", where, 0, "", "", tokens=not classes_of_its_own(self._model))
        self.capture = Capture(
            self._model, self._model, where, self._take, self._close, find=before_conversion, describe=describe_labels
        )
        self.record.notes = self.capture.notes

    def _take(self, forward: Forward, output: Any, gradient: Tensor) -> list[Row]:
        logits = logits_of(output)
        with Replay(), torch.autocast(gradient.device.type, enabled=False), torch.random.fork_rng(devices=[]):
            work = str(gradient.dtype).removeprefix("torch.")
            v = self.record.vocabulary = max(2, logits.shape[-1])
            self.record.work_dtype, self.record.loss_dtype = work, "float32"
            rows = read_rows(logits, gradient, 0, forward.labels, kind_of(self._model, forward.labels))
        if work in ("bfloat16", "float16"):
            rows = [replace(row, amplification=rounded_amplification(row.amplification, v, work, work)) for row in rows]
        mask = forward.attention_mask
        if mask is not None and not self._model.config.is_encoder_decoder and mask.shape == logits.shape[:-1]:
            # A label on padding trains padding.
            rows = [replace(row, intended=row.scored & (m.cpu().numpy() > 0)) for row, m in zip(rows, mask)]
        return rows

    def _close(self, window: CapturedWindow) -> None:
        order = sorted({a.backward for a in window.arrivals})
        rows = [replace(row, micro_batch=order.index(a.backward)) for a in window.arrivals for row in a.reading]
        shape = (len(order), len(window.arrivals), window.stepped, window.reached, window.trainable)
        measured = Window(rows, [], *shape, 0.0)
        note(self.record, measured, self._model)


def logits_of(output: Any) -> Tensor:
    """The logits in what a model returned: by their name, or the first tensor that is no single number.

    Raises:
        ValueError: there is none.
    """
    found = output if isinstance(output, Tensor) else named(output, "logits")
    if found is None and isinstance(output, tuple):
        found = next((x for x in output if isinstance(x, Tensor) and x.dim() > 1), None)
    if not isinstance(found, Tensor):
        raise ValueError(f"the model returned {type(output).__name__} without logits: call it so that it gives them")
    return found


class Unconverted:
    """Logits as the model made them, of which accelerate has handed out a copy in float32: the loss has read these.

    They are known by the place in the graph that made them alone.
    """

    requires_grad = True

    def __init__(self, copy: Tensor, maker: Any, number: int) -> None:
        self._copy, self._maker, self._number, self.device = copy, maker, number, copy.device

    def detach(self) -> Tensor:
        """The same numbers without a graph."""
        return self._copy.detach()

    def register_hook(self, hook: Any) -> None:
        """Call it with the gradient that arrives at them, all of it."""
        number = self._number

        def arrived(gradients: tuple[Tensor, ...]) -> None:
            hook(gradients[number])

        self._maker.register_prehook(arrived)


def before_conversion(output: Any) -> Any:
    """Where the gradient of a loss arrives that the model has computed itself: at the logits it had."""
    logits = logits_of(output)
    loss, node = named(output, "loss"), logits.grad_fn
    if loss is None or node is None or node.name() != "ToCopyBackward0":
        return logits
    return Unconverted(logits, *node.next_functions[0])


def describe_labels(batch: dict[str, Any], logits: Tensor, index: int, where: str) -> Forward:
    """Note the labels of a forward as they were given."""
    ids, labels = token_ids(batch), batch.get("labels")
    if not (labels is None or isinstance(labels, Tensor)):
        raise ValueError(f"labels is a {type(labels).__name__}: pass a tensor with a label for each target")
    kind = logits.device.type
    autocast = torch.get_autocast_dtype(kind) if torch.is_autocast_enabled(kind) else None
    mask = batch.get("attention_mask")
    held = None if labels is None else labels.detach()
    return Forward(index, ids, held, mask if isinstance(mask, Tensor) else None, autocast)
