"""Reads weights in half precision, where rounding lets them be told: behind the head.

A gradient in bfloat16 at the final hidden states is a sum of V rounded products, which hides a tenth of a weight. Right
behind the head's matrix it is one rounded number per entry, and the softmax can be made again from the very logits:

    w = <g, r>/|r|^2,  r = softmax(z) - onehot(y),  relative error at most 2 u_half + 2 (V/4 + 3 log V + 13) u_32 / |r|

A head of TRL gives log-probabilities instead of logits: w = -dL/dlog p, in float32.

Letters: b rows, t tokens, v vocabulary.
"""

import math
from typing import Any

import torch
from torch import Tensor, nn

from ..capture import Capture, Replay
from ..captured import CapturedWindow
from ..forward import Forward, describe, hidden_states, token_ids
from ..gathering import note
from ..half_precision import rounded_amplification
from ..live import LiveReading, ReplayedHead, multiplies
from ..live_record import documents_of, measured, read_batch
from ..locate import Place
from ..record import Record


class HalfRecorder:
    """As LiveRecorder, at the log-probabilities of the model where it gives them, else at the logits of its matrix.

    Args:
        fused: the model is called so that TRL's head gives log-probabilities.

    Attributes:
        half: the type that it runs in.

    Raises:
        ValueError: the model gives no log-probabilities and no plain matrix makes its logits.
    """

    def __init__(self, place: Place, half: str, fused: bool) -> None:
        self._root: Any = place.root
        self.half = half
        matrix: Any = getattr(self._root, "get_output_embeddings", lambda: None)()
        if not fused and not (multiplies(matrix) and plain(self._root)):
            raise ValueError(
                f"{type(self._root).__name__} runs in {half} and something stands behind the matrix of its head, so "
                "no weight can be told to a tenth: watch it in float32"
            )
        where = "the log-probabilities" if fused else f"the logits ({type(self._root).__name__})"
        self.record = Record("live", where, 0, "", "")
        self.capture = Capture(
            self._root,
            self._root if fused else matrix,
            where,
            self._take,
            self._close,
            find=log_probabilities if fused else hidden_states,
            describe=describe_scored if fused else describe,
        )
        self.record.notes = self.capture.notes
        self._fused = fused

    def _take(self, forward: Forward, output: Any, gradient: Tensor) -> dict[str, Any]:
        with Replay(), torch.autocast(gradient.device.type, enabled=False), torch.random.fork_rng(devices=[]):
            if self._fused:
                self.record.vocabulary = int(text_config(self._root).vocab_size)
                self.record.work_dtype = self.record.loss_dtype = "float32"
                return read_fused(forward, output, gradient)
            logits_btv = hidden_states(output)
            v = self.record.vocabulary = logits_btv.shape[-1]
            self.record.work_dtype, self.record.loss_dtype = self.half, "float32"
            read = read_batch(ReplayedHead(lambda logits: logits, v, None), forward, logits_btv, gradient)
            read["amplification"] = rounded_amplification(read["amplification"], v, self.half)
            return read

    def _close(self, window: CapturedWindow) -> None:
        note(self.record, measured(window), self._root)


def plain(causal: Any) -> bool:
    """Whether the logits are those of the head's matrix: no soft-cap, scale or other rest behind it."""
    names = ("final_logit_softcapping", "logit_scale", "logits_scaling", "lm_head_multiplier")
    config = text_config(causal)
    return all(getattr(config, name, None) in (None, 1, 1.0) for name in names)


def text_config(causal: Any) -> Any:
    """The config of the part that reads text; old releases of transformers keep only one."""
    config = causal.config
    return config.get_text_config() if hasattr(config, "get_text_config") else config


def log_probabilities(output: Any) -> Tensor:
    """What TRL's fused head gives; it stands for the hidden states, one position shorter.

    Raises:
        ValueError: this forward gave none.
    """
    found = getattr(output, "log_probs", None)
    if not isinstance(found, Tensor):
        raise ValueError(
            f"the model returned {type(output).__name__} without log_probs, in half precision: what its loss reads of "
            "it cannot be told; train a step in float32 to be told"
        )
    return found


def describe_scored(batch: dict[str, Any], log_p: Tensor, index: int, where: str) -> Forward:
    """Note tokens, labels in place and padding of a forward that gave log-probabilities [b, t - 1], or [b, t].

    Raises:
        ValueError: no token ids.
    """
    ids, shifted, labels = token_ids(batch), batch.get("shift_labels"), batch.get("labels")
    if not isinstance(ids, Tensor):
        raise ValueError(f"the model was called with {sorted(batch)} and none of it is a tensor of token ids")
    if shifted is None and isinstance(labels, Tensor):
        shifted = nn.functional.pad(labels, (0, 1), value=-100)[:, 1:]
    mask = batch.get("attention_mask")
    flat = isinstance(mask, Tensor) and mask.shape == ids.shape
    told = {name: batch.get(name) for name in ("position_ids", "cu_seq_lens_q", "seq_idx")}
    boundaries = {name: value.detach() for name, value in told.items() if isinstance(value, Tensor)}
    targets = None if shifted is None else shifted.detach()
    return Forward(index, ids.detach(), targets, mask if flat else None, None, boundaries)


def read_fused(forward: Forward, log_p: Tensor, gradient: Tensor) -> dict[str, Any]:
    """Weights [b, t] from the gradient at log-probabilities; masked ones give 0 whatever came back to them."""
    ids_bt = forward.input_ids
    short = ids_bt.shape[1] - gradient.shape[1]
    log_p, gradient = (nn.functional.pad(x.detach().double(), (0, short)) for x in (log_p, gradient))
    next_bt = nn.functional.pad(ids_bt, (0, 1))[:, 1:]
    scored_bt = torch.ones_like(ids_bt, dtype=torch.bool)
    scored_bt[:, -1] = False
    if forward.labels is not None:
        # -100 as a rule, -1 in some loops: a loss takes no negative target but the one that it ignores.
        scored_bt = forward.labels >= 0
    mask_bt = torch.ones_like(scored_bt) if forward.attention_mask is None else forward.attention_mask > 0
    weight_bt = torch.where(scored_bt, -gradient, 0.0)
    nothing_bt, blank_bt = torch.zeros_like(weight_bt), torch.full_like(weight_bt, math.nan)
    known = LiveReading(
        weight_bt,
        torch.where(weight_bt != 0, weight_bt.sign(), math.nan),
        nothing_bt,
        nothing_bt,
        torch.where(scored_bt, -log_p, math.nan),
        blank_bt,
        torch.where(scored_bt, 0.5, math.nan),
    )
    target_bt = next_bt if forward.labels is None else torch.where(scored_bt, forward.labels, next_bt)
    whole = {"ids": ids_bt, "mask": mask_bt, "target": target_bt, "scored": scored_bt, **known._asdict()}
    whole["document"] = documents_of(forward)
    size_bt = weight_bt.abs()
    whole["on_padding"], whole["on_tokens"] = (torch.where(at, size_bt, 0).max() for at in (~mask_bt, mask_bt))
    return {name: values.cpu().numpy() for name, values in whole.items()}
