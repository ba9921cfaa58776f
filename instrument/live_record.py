"""From gradients at the final hidden states to a record of windows."""

import math
from contextlib import suppress
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from .capture import Capture, Replay
from .captured import CapturedWindow
from .forward import Forward, hidden_states
from .gathering import note, place
from .leak_sequences import from_batch
from .live import LiveReading, read_live
from .locate import Head, Place
from .record import LeftOut, Record, Row, Window, padding_share


class LiveRecorder:
    """Reads each gradient as it arrives and keeps numbers only: no tensor of a finished step stays alive.

    Args:
        found: where it is read.
        silent: a window in which nothing is scored is kept, not refused: whoever drives the run knows what should be.
    """

    def __init__(self, found: Place, silent: bool = False) -> None:
        # Vocabulary and dtypes are known when the first gradient comes.
        self.record = Record("live", found.where, 0, "", "")
        self.capture = Capture(found.root, found.read_point, found.where, self._take, self._close)
        self.record.notes = self.capture.notes
        self.capture.leave_out = self._leave_out
        self._place, self._silent = found, silent
        self._head: Head | None = None

    def head(self) -> Head | None:
        """What turns hidden states into logits, once it is known."""
        return self._head

    def _take(self, forward: Forward, output: Any, gradient_bth: Tensor) -> dict[str, NDArray[Any]]:
        kind = gradient_bth.device.type
        with Replay(), torch.autocast(kind, enabled=False), torch.random.fork_rng(devices=[]):
            if self._head is None:
                refuse_sharded_head(self._place.root)
                self._head = self._place.recognise(output)
                self.record.vocabulary = self._head.vocabulary
                work = str(forward.autocast or gradient_bth.dtype).removeprefix("torch.")
                self.record.work_dtype, self.record.loss_dtype = work, "float32" if work == "float64" else work
            return read_batch(self._head, forward, hidden_states(output), gradient_bth)

    def _leave_out(self, window: int, forwards: list[Forward]) -> None:
        for number, forward in enumerate(sorted(forwards, key=lambda forward: forward.index)):
            self.record.left_out += samples_of(window, number, forward)

    def _close(self, window: CapturedWindow) -> None:
        note(self.record, measured(window), self._place.root, silent=self._silent)


def samples_of(window: int, number: int, forward: Forward) -> list[LeftOut]:
    """The rows of a forward whose gradient was thrown away."""
    document_bt, mask_bt, rank = documents_of(forward).cpu().numpy(), masked(forward).cpu().numpy(), max(place()[0], 0)
    found = []
    for ids, document, kept in zip(forward.input_ids.cpu().numpy(), document_bt, mask_bt):
        if kept.any():
            starts = np.flatnonzero(np.diff(document[kept], prepend=-1))
            found.append(LeftOut(window, number, ids[kept], starts, rank))
    return found


def masked(forward: Forward) -> Tensor:
    """[b, t] whether a token stands there and no padding."""
    mask = forward.attention_mask
    return torch.ones_like(forward.input_ids, dtype=torch.bool) if mask is None else mask > 0


def measured(window: CapturedWindow) -> Window:
    """The rows of all that arrived in a window."""
    rows: list[Row] = []
    order = sorted({a.backward for a in window.arrivals})
    for arrival in window.arrivals:
        rows += split_rows(arrival.reading, order.index(arrival.backward))
    padding = padding_share([(float(a.reading["on_padding"]), float(a.reading["on_tokens"])) for a in window.arrivals])
    shape = (len(order), len(window.arrivals), window.stepped, window.reached, window.trainable)
    return Window(rows, [], *shape, padding)


def refuse_sharded_head(root: Any) -> None:
    """Raise when a rank holds a part of the head only while its gradient arrives.

    Gathering it would be a collective in the middle of the run's own, and running it would set off its hooks.

    Raises:
        NotImplementedError: the head is sharded by itself.
    """
    head = getattr(root, "get_output_embeddings", lambda: None)()
    weight = getattr(head, "weight", None)
    if weight is not None and (hasattr(weight, "placements") or weight.dim() != 2):
        raise NotImplementedError(
            f"the head of {type(root).__name__} is sharded by itself, and this rank holds a part of it only: let it be "
            "sharded together with the root, as by fully_shard(model) after its layers"
        )


def read_batch(head: Head, forward: Forward, hidden_bth: Tensor, gradient_bth: Tensor) -> dict[str, NDArray[Any]]:
    """Read every position that has a target or a gradient.

    Returns:
        ids, mask, target, scored, document and each field of LiveReading, [b, t]; on_padding and on_tokens, the largest
        |gradient| there.
    """
    ids_bt = forward.input_ids
    next_bt = torch.nn.functional.pad(ids_bt, (0, 1))[:, 1:]
    # In float64, since numpy has no bfloat16.
    size_bt = gradient_bth.abs().amax(-1).double()
    mask_bt = masked(forward)
    if forward.labels is None:
        target_bt, scored_bt = next_bt, size_bt > 0
        scored_bt[:, -1] = False
    else:
        # -100 as a rule, -1 in some loops: a loss takes no negative target but the one that it ignores.
        scored_bt = forward.labels >= 0
        target_bt = torch.where(scored_bt, forward.labels, next_bt)
    active_bt = scored_bt | (size_bt > 0)
    active_n = active_bt.flatten().nonzero()[:, 0]
    # Taken by number: a mask would be counted anew for each of them.
    hidden_nh, gradient_nh = (x.flatten(0, 1).index_select(0, active_n) for x in (hidden_bth, gradient_bth))
    read = read_live(head, hidden_nh, gradient_nh, target_bt.flatten()[active_n])
    whole = {"ids": ids_bt, "mask": mask_bt, "target": target_bt, "scored": scored_bt}
    whole["document"] = documents_of(forward)
    # Elsewhere no gradient came, and nothing else was computed.
    other = [0.0 if name in ("weight", "remainder", "uniform") else math.nan for name in LiveReading._fields]
    found = {name: values.cpu().numpy() for name, values in whole.items()}
    filled_ft = np.repeat(np.array(other)[:, None], ids_bt.numel(), 1)
    filled_ft[:, active_n.cpu().numpy()] = torch.stack(read).cpu().numpy()
    found |= zip(LiveReading._fields, filled_ft.reshape(-1, *ids_bt.shape))
    size, there = size_bt.cpu().numpy(), found["mask"]
    found["on_padding"], found["on_tokens"] = (np.where(at, size, 0).max(initial=0) for at in (~there, there))
    return found


def documents_of(forward: Forward) -> Tensor:
    """[b, t] number of the document in its row that each token belongs to; 0 where the batch does not say."""
    shape = (forward.input_ids.shape[0], forward.input_ids.shape[1])
    if forward.boundaries:
        # What does not fit the batch, as positions of images do not, says nothing of documents.
        with suppress(ValueError):
            return from_batch(forward.boundaries, shape)[0]
    return torch.zeros(shape, dtype=torch.long)


def split_rows(read: dict[str, NDArray[Any]], micro_batch: int) -> list[Row]:
    """Take the padding off each row of a batch."""
    rows = []
    for b in range(read["ids"].shape[0]):
        kept = np.flatnonzero(read["mask"][b])
        if kept.size == 0:
            continue
        at = kept[:-1]
        # A row's last token predicts nothing unless a label says so, as when shifted labels were handed over.
        if read["scored"][b, kept[-1]] or read["weight"][b, kept[-1]] != 0:
            at = kept
        # With padding at an end only a copy of one piece, which is made sooner than one of places by their number.
        span = slice(kept[0], kept[0] + at.size) if kept[-1] - kept[0] == kept.size - 1 else at
        got: dict[str, Any] = {name: read[name][b, span].copy() for name in ("target", "scored", *LiveReading._fields)}
        rows.append(
            Row(
                ids=read["ids"][b, kept],
                starts=np.flatnonzero(np.diff(read["document"][b, kept], prepend=-1)),
                micro_batch=micro_batch,
                intended=got["scored"].copy(),
                backward_weight=got["weight"].copy(),
                **got,
            )
        )
    return rows
