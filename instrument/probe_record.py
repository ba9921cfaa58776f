"""From gradients of the probe's input embeddings to a record of windows.

Because every input id is unique and attention is silent, row x of the embedding's gradient belongs to the targets that
follow token x and to nothing else, whatever batches, padding or order the loop made of the rows.

Letters: p pairs of an input and its target, h hidden size.
"""

from collections import Counter
from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor
from transformers import LlamaForCausalLM

from . import readout
from .capture import Capture, Replay
from .captured import CapturedWindow
from .forward import Forward, hidden_states
from .gathering import note, place
from .probe import IGNORED, PAD
from .record import Bools, Floats, Record, Row, Window, padding_share

Pair = tuple[int, int]


class Units(NamedTuple):
    """Known in advance for each pair: where its gradient points, and the losses there."""

    unit_ph: Tensor
    uniform_ph: Tensor
    column_p: Tensor
    loss_p: Tensor
    uniform_loss_p: Tensor


class Seen(NamedTuple):
    """What one forward was about, and the gradient that came to its input embeddings [b, t, h]."""

    ids: Tensor
    labels: Tensor | None
    mask: Tensor
    gradient: Tensor


class ProbeRecorder:
    """Reads the embedding's own gradient at the end of each window, and what backward delivered on the way.

    Args:
        model: from build_probe.
        rows: [b] token ids; an id may be the input of several targets, but a pair of input and target occurs once.
        intended: [b] which of the row's n - 1 targets should be scored.
    """

    def __init__(
        self, model: LlamaForCausalLM, rows: Sequence[Sequence[int]], intended: Sequence[Sequence[bool]]
    ) -> None:
        self.record = Record(
            "probe", "the embedding of each input token", model.config.vocab_size, "float64", "float32"
        )
        embedding = model.get_input_embeddings()
        self.capture = Capture(model, embedding, "the input embeddings", self._take, self._close)
        self.record.notes = self.capture.notes
        self._model, self._rows, self._intended = model, [list(r) for r in rows], [list(i) for i in intended]
        self._pairs = pairs_of(self._rows)
        self._missing = set(range(len(self._rows)))
        self._gradient: Tensor | None = None
        self._hook = embedding.weight.register_post_accumulate_grad_hook(self._keep)

    def release(self) -> None:
        """Take the hook off the embedding's parameter, and note which rows never ran."""
        self._hook.remove()
        self.record.missing = sorted(self._missing)

    def _keep(self, parameter: Tensor) -> None:
        # Fires after each backward, so what stays is the accumulated gradient before anybody clips or unscales it.
        assert parameter.grad is not None
        self._gradient = parameter.grad.detach().clone()

    def _keep_averaged(self) -> None:
        parameter = self._model.get_input_embeddings().weight
        if parameter.grad is not None:
            self._keep(parameter)

    def _take(self, forward: Forward, output: object, gradient_bth: Tensor) -> Seen:
        mask = forward.input_ids != PAD if forward.attention_mask is None else forward.attention_mask > 0
        assert hidden_states(output).shape == gradient_bth.shape
        if place()[1] > 1:
            queue = torch.autograd.Variable._execution_engine.queue_callback
            # The wrapper averages in a callback of its own, which it queues after this; what is queued then is last.
            queue(lambda: queue(self._keep_averaged))
        return Seen(forward.input_ids, forward.labels, mask, gradient_bth.clone())

    def _close(self, window: CapturedWindow) -> None:
        with Replay():
            units = unit_gradients(self._model, self._pairs)
        if self._gradient is None:
            raise RuntimeError(
                "gradients came to the input embeddings but none was accumulated in their parameter: "
                "the loop froze the embedding or replaced it; the probe must train as it was handed over"
            )
        read = {pair: i for i, pair in enumerate(self._pairs)}
        by_parameter = read_inputs(self._gradient, self._pairs, units)
        on_the_way = torch.zeros_like(self._gradient)
        for arrival in window.arrivals:
            seen: Seen = arrival.reading
            on_the_way.index_add_(0, seen.ids.flatten(), seen.gradient.flatten(0, 1))
        by_backward = read_inputs(on_the_way, self._pairs, units)
        order = sorted({a.backward for a in window.arrivals})
        ran: dict[int, tuple[int, Bools]] = {}
        for arrival in window.arrivals:
            for row, b, t in self._find(arrival.reading):
                ran[row] = (order.index(arrival.backward), labelled(arrival.reading, b, t, len(self._rows[row])))
        if not ran:
            raise RuntimeError(
                f"the model ran in window {len(self.record.windows)}, but on none of the rows that the step was given: "
                "train on these rows, whole, whatever batches are made of them"
            )
        self._missing -= ran.keys()
        rows: list[Row] = []
        carried: list[Row] = []
        for r, ids in enumerate(self._rows):
            at = [read[pair] for pair in pairwise(ids)]
            micro_batch, scored = ran.get(r, (-1, np.zeros(len(ids) - 1, dtype=bool)))
            made = make_row(self._intended[r], scored, ids, micro_batch, at, by_parameter, by_backward, units)
            (rows if r in ran else carried).append(made)
        kept = [row for row in carried if bool(np.any(row.weight != 0))]
        padding = padding_share([largest(a.reading) for a in window.arrivals])
        shape = (len(order), len(window.arrivals), window.stepped, window.reached, window.trainable)
        measured = Window(rows, kept, *shape, padding, stray_inputs(self._pairs, self._gradient, on_the_way))
        note(self.record, measured, self._model, after_averaging=True)

    def _find(self, seen: Seen) -> list[tuple[int, int, int]]:
        """Which of our rows starts where in a batch (row, b, t), by its first pair, which occurs nowhere else."""
        first = {tuple(row[:2]): r for r, row in enumerate(self._rows)}
        at = [(pair, b, t) for b, ids in enumerate(seen.ids.tolist()) for t, pair in enumerate(pairwise(ids))]
        return [(first[pair], b, t) for pair, b, t in at if pair in first]


def stray_inputs(pairs: Sequence[Pair], *gradients_vh: Tensor) -> list[int]:
    """Ids that precede no target of the rows and have a gradient all the same: last tokens, padding, foreign ones."""
    has_v = torch.stack([gradient_vh.any(-1) for gradient_vh in gradients_vh]).any(0)
    return sorted(set(has_v.nonzero()[:, 0].tolist()) - {x for x, _ in pairs})


def pairs_of(rows: Sequence[Sequence[int]]) -> list[Pair]:
    """Every (input, target) pair of the rows, each once.

    Raises:
        ValueError: no row; a row without a target; the padding id as an input, whose embedding takes no gradient; a
            pair that occurs twice, so that its weight could not be given to one place.
    """
    if not rows:
        raise ValueError("rows=[] holds no row: give the token ids of each row")
    short = [(b, len(row)) for b, row in enumerate(rows) if len(row) < 2]
    if short:
        raise ValueError(
            f"rows[{short[0][0]}] holds {short[0][1]} tokens: a row needs at least 2, one input and one target"
        )
    pairs = [(int(x), int(y)) for row in rows for x, y in pairwise(row)]
    if any(x == PAD for x, _ in pairs):
        raise ValueError(
            f"id {PAD} is an input in the rows, but it is the probe's padding, which trains nothing: use others"
        )
    counts = Counter(pairs)
    pair, times = counts.most_common(1)[0]
    if times > 1:
        raise ValueError(
            f"the pair of input and target {pair} occurs {times} times in the rows, so one gradient would hold all: "
            "give each row its own ids (tracer_rows does), or watch a model of your own on these rows"
        )
    return pairs


def unit_gradients(model: LlamaForCausalLM, pairs: Sequence[Pair]) -> Units:
    """Differentiate -log p(target | input) at the embedding of each input, all pairs at once, in float64.

    Raises:
        RuntimeError: the attention output is no longer silent, so a token's loss depends on its neighbours too.
    """
    if any(bool(layer.self_attn.o_proj.weight.any()) for layer in model.model.layers):
        raise RuntimeError(
            "the probe's attention output is no longer zero: the loop unfroze o_proj and trained it; "
            "leave requires_grad of the probe's parameters as they were"
        )
    inputs, targets = torch.tensor(pairs).T
    embedded = model.get_input_embeddings().weight.detach()[inputs][:, None].requires_grad_(True)
    with torch.enable_grad(), torch.autocast("cpu", enabled=False):
        logits_pv = run_without_checkpoints(model, embedded)[:, 0].double()
        log_p_pv = torch.log_softmax(logits_pv, -1)
        loss_p = -log_p_pv.gather(-1, targets[:, None])[:, 0]
        uniform_p = -log_p_pv.mean(-1)
        column_p = logits_pv.gather(-1, targets[:, None]).sum()
        unit, uniform, column = (
            torch.autograd.grad(total, embedded, retain_graph=True)[0][:, 0]
            for total in (loss_p.sum(), uniform_p.sum(), column_p)
        )
    return Units(unit, uniform, column.norm(dim=-1), loss_p.detach(), uniform_p.detach())


def run_without_checkpoints(model: LlamaForCausalLM, embedded: Tensor) -> Tensor:
    """Logits. Reentrant checkpointing, which is on in training only, cannot be differentiated for a chosen input."""
    training = [module for module in model.modules() if module.training]
    try:
        for module in training:
            module.training = False
        return type(model).forward(model, inputs_embeds=embedded, use_cache=False).logits
    finally:
        for module in training:
            module.training = True


class Readings(NamedTuple):
    """What a gradient of the embedding says about each pair; see record.Row."""

    weight: Tensor
    cosine: Tensor
    remainder: Tensor
    uniform: Tensor
    amplification: Tensor


def read_inputs(gradient_vh: Tensor, pairs: Sequence[Pair], units: Units) -> Readings:
    """Read all pairs: one projection where an input has one target, least squares where it has several."""
    inputs = torch.tensor([pair[0] for pair in pairs])
    gradient_ph = gradient_vh[inputs]
    read = readout.read_weights(gradient_ph, units.unit_ph)
    amplification_p = units.column_p.max() / units.unit_ph.norm(dim=-1)
    odd_p = readout.unexplained(read, amplification_p)
    for x in [int(i) for i, n in zip(*torch.unique(inputs, return_counts=True)) if n > 1]:
        same_p = inputs == x
        solved = readout.solve_weights(gradient_vh[x], units.unit_ph[same_p], place=f"input {x}: ")
        read.weight[same_p] = solved.weight
        read.cosine[same_p], read.remainder[same_p] = solved.cosine, solved.remainder
        amplification_p[same_p] *= solved.condition
        odd_p &= ~same_p
    directions = (units.unit_ph[odd_p], units.uniform_ph[odd_p])
    read, uniform_p, condition_p = readout.with_uniform(read, odd_p, gradient_ph[odd_p], *directions)
    return Readings(*read, uniform_p, amplification_p * condition_p)


def labelled(seen: Seen, b: int, start: int, length: int) -> Bools:
    """[n] which targets of a row of `length` tokens carried a label; all, where no labels passed through the model."""
    scored = np.ones(length - 1, dtype=bool)
    if seen.labels is not None:
        carried = seen.labels[b, start : start + length - 1] != IGNORED
        scored[:] = False
        scored[: len(carried)] = carried.numpy()
    return scored


def largest(seen: Seen) -> tuple[float, float]:
    """Largest |gradient| on padding and on a token."""
    size_bt = seen.gradient.abs().amax(-1)
    return float(torch.where(seen.mask, 0, size_bt).max()), float(torch.where(seen.mask, size_bt, 0).max())


def make_row(
    intended: Sequence[bool],
    scored: Bools,
    ids: Sequence[int],
    micro_batch: int,
    at: Sequence[int],
    by_parameter: Readings,
    by_backward: Readings,
    units: Units,
) -> Row:
    """Pick the values of one row's pairs."""

    def pick(values_p: Tensor) -> Floats:
        return values_p[list(at)].double().numpy().copy()

    uniform = pick(by_parameter.uniform)
    return Row(
        ids=np.array(ids),
        micro_batch=micro_batch,
        target=np.array(ids[1:]),
        scored=scored,
        intended=np.array(intended, dtype=bool),
        weight=pick(by_parameter.weight),
        cosine=pick(by_parameter.cosine),
        remainder=pick(by_parameter.remainder),
        uniform=uniform,
        loss=pick(units.loss_p),
        uniform_loss=np.where(uniform == 0, np.nan, pick(units.uniform_loss_p)),
        amplification=pick(by_parameter.amplification),
        backward_weight=pick(by_backward.weight),
    )
