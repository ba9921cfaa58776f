"""Reads what each token of a student weighs in what its teacher asks of it, as the gradients arrive.

The teacher's final hidden states become logits again through its own head, and those of the student through the
student's. The weight of a token is the negative gradient at its hidden state over that of the loss there: 1/N each
under a token mean, whatever the words are; see objective_distilled and objective_tokens.

Letters: b rows, t tokens, n places that are read, h hidden size, v vocabulary.
"""

import math
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ..capture import Replay
from ..captured import CapturedWindow
from ..forward import Forward, hidden_states
from ..live import LinearHead, LiveReading
from ..live_record import LiveRecorder, documents_of, masked, refuse_sharded_head
from ..locate import Place
from ..objective_distilled import apart, fitting, share_of
from ..objective_distilled import as_amplification as amplification_of
from ..objective_record import Taught
from ..objective_tokens import Constants, Sampled, as_amplification, constants, one_off, pulled
from ..objective_tokens import apart as apart_from
from ..record import Floats, Record
from .taught import Lesson, Teacher, logits_of

# Probabilities of one micro-batch, tokens times words: some 80 seconds on one core.
MOST = 2**27
# Of them at once: some 30 MB in each of a few tables.
AT_ONCE = 2**22


class TaughtRecorder(LiveRecorder):
    """As LiveRecorder, in units of the divergence from a teacher.

    Args:
        found: where the student is read; teacher: whom it learns from.
    """

    def __init__(self, found: Place, teacher: Teacher) -> None:
        super().__init__(found)
        self._teacher = teacher
        self._other: tuple[float, ...] | None = None
        self._count = math.nan
        where = f"{found.where}, in units of {teacher.units.named()}"
        self.record = Record("live", where, 0, "", "", notes=self.capture.notes)
        if teacher.units.by_completion:
            # SDPO has rows that nobody teaches, and counts them.
            self.record.expect = "per-sequence mean over all rows"

    def _take(self, forward: Forward, output: Any, gradient_bth: Tensor) -> dict[str, Any]:
        with Replay(), torch.autocast(gradient_bth.device.type, enabled=False), torch.random.fork_rng(devices=[]):
            if self._head is None:
                refuse_sharded_head(self._place.root)
                self._head = self._place.recognise(output)
                self.record.vocabulary = self._head.vocabulary
                self.record.work_dtype = self.record.loss_dtype = "float32"
                # What is measured behind backward scales its tolerance by it.
                self._head.note_largest(hidden_states(output))
            if not isinstance(self._head, LinearHead):
                raise NotImplementedError(
                    f"something stands behind the matrix of the head of {type(self._place.root).__name__}: what a "
                    "token of a student weighs is told behind a plain matrix only"
                )
            return self._read(self._head, forward, hidden_states(output), gradient_bth)

    def _read(self, head: LinearHead, forward: Forward, hidden_bth: Tensor, gradient_bth: Tensor) -> dict[str, Any]:
        lesson, ids_bt = self._teacher.lesson, forward.input_ids
        if lesson is None:
            raise ValueError("no teacher ran with the student's tokens before its backward: nothing to compare with")
        if lesson.ratios:
            raise NotImplementedError("the trainer corrects for another sampler, which has no closed form here")
        self._count = lesson.count
        next_bt, wide_bt = torch.nn.functional.pad(ids_bt, (0, 1))[:, 1:], torch.zeros_like(ids_bt, dtype=torch.bool)
        # A mark stands at its token, a place in front of it.
        wide_bt[:, -lesson.marks.shape[1] :] = lesson.marks.to(wide_bt.device)
        scored_bt = torch.nn.functional.pad(wide_bt[:, 1:], (0, 1))
        size_bt = gradient_bth.abs().amax(-1).double()
        mask_bt = masked(forward)
        places = (scored_bt | (size_bt > 0)).nonzero()
        refuse_too_many(len(places), head.vocabulary)
        empty = {"weight": 0.0, "remainder": 0.0, "uniform": 0.0}
        read = {name: np.full(ids_bt.shape, empty.get(name, math.nan)) for name in LiveReading._fields}
        parts = places.split(max(1, AT_ONCE // head.vocabulary))
        both = partial(self._logits, head, lesson, hidden_bth, ids_bt)
        told = self._constants(head.vocabulary, parts, both, scored_bt, next_bt)
        for part in parts:
            b, t = part.unbind(-1)
            at = b.cpu().numpy(), t.cpu().numpy()
            pushed = -gradient_bth[b, t].double(), *both(b, t)
            of_part = None if told is None else (Constants(*(x[at] for x in told[0])), told[1][at])
            for name, values in self._weigh(head, scored_bt[b, t], next_bt[b, t], *pushed, of_part).items():
                read[name][at] = values
        tables = {"ids": ids_bt, "mask": mask_bt, "target": next_bt, "scored": scored_bt}
        tables |= {"document": documents_of(forward)}
        tables |= {
            name: torch.where(at, size_bt, 0).max() for name, at in (("on_padding", ~mask_bt), ("on_tokens", mask_bt))
        }
        return {**{name: values.cpu().numpy() for name, values in tables.items()}, **read}

    def _logits(
        self, head: LinearHead, lesson: Lesson, hidden_bth: Tensor, ids_bt: Tensor, b: Tensor, t: Tensor
    ) -> tuple[Tensor, Tensor]:
        """[n, v] logits of student and teacher."""
        return logits_of(head, hidden_bth[b, t]), self._taught(lesson, ids_bt, b, t)

    def _constants(
        self, vocabulary: int, parts: Sequence[Tensor], both: Any, scored_bt: Tensor, said_bt: Tensor
    ) -> tuple[Constants, Floats] | None:
        """[b, t] constants of a loss at the sampled tokens, and by how much a log-probability errs; None of others."""
        units = self._teacher.units
        if not isinstance(units.support, Sampled):
            return None
        student, teacher, largest = (np.zeros(said_bt.shape) for _ in range(3))
        for part in parts:
            b, t = part.unbind(-1)
            logits = [z / units.temperature for z in both(b, t)]
            said = said_bt[b, t, None]
            at = b.cpu().numpy(), t.cpu().numpy()
            for table, z in zip((student, teacher), logits):
                table[at] = torch.log_softmax(z, -1).gather(-1, said)[:, 0].cpu().numpy()
            largest[at] = torch.stack([z.abs().amax(-1) for z in logits]).amax(0).cpu().numpy()
        one = one_off(largest, vocabulary)
        return constants(student, teacher, scored_bt.cpu().numpy(), one, units.support), one

    def _taught(self, lesson: Lesson, ids_bt: Tensor, b: Tensor, t: Tensor) -> Tensor:
        """[n, v] logits of the teacher; both end with the same tokens, and it may read more before them."""
        more = lesson.ids.shape[1] - ids_bt.shape[1]
        ahead = lesson.marks.shape[1]
        if len(lesson.ids) != len(ids_bt) or bool((lesson.ids[:, -ahead:] != ids_bt[:, -ahead:])[lesson.marks].any()):
            raise ValueError(
                f"the teacher read a batch of shape {list(lesson.ids.shape)} whose answers are not those that the "
                f"student read in {list(ids_bt.shape)}: they cannot be compared token by token"
            )
        return self._teacher.logits(lesson.hidden[b, (t + more).clamp(min=0)])

    def _weigh(
        self,
        head: LinearHead,
        scored_n: Tensor,
        said_n: Tensor,
        pull_nh: Tensor,
        student_nv: Tensor,
        taught_nv: Tensor,
        told: tuple[Constants, Floats] | None,
    ) -> dict[str, Any]:
        """Fields of LiveReading, [n]; told: of a loss at the sampled tokens."""
        units, v = self._teacher.units, head.vocabulary
        scored, said, pull, student, taught, matrix = (
            x.detach().cpu().numpy()
            for x in (scored_n, said_n, pull_nh, student_nv, taught_nv, head.linear.weight.double())
        )
        if told is not None:
            found = pulled(pull, student, said, matrix, *told, units.temperature)
            weight, remainder, amplification = found.weight, found.remainder, as_amplification(found.error, v)
            if self._other is None and apart_from(found, scored):
                self._other = ()
        else:
            assert not isinstance(units.support, Sampled)
            none = [np.zeros(said.size)]
            batch = Taught(np.zeros(1, np.int64), [scored], [said], [pull], [student], [taught], matrix, none)
            share = share_of(batch, units.beta, units.temperature, units.support)
            weight, remainder, amplification = share.weight[0], share.remainder[0], amplification_of(share, v)[0]
            options = units.beta, units.temperature, v, units.support
            if self._other is None and apart([[batch]], *options):
                self._other = fitting([[batch]], *options)
        loss = np.log(np.exp(student - student.max(1, keepdims=True)).sum(1)) + student.max(1)
        return {
            "weight": weight,
            "cosine": np.sign(weight),
            "remainder": remainder,
            "uniform": np.zeros(len(said)),
            "loss": loss - student[np.arange(len(said)), said],
            "uniform_loss": np.full(len(said), math.nan),
            "amplification": amplification,
        }

    def _close(self, window: CapturedWindow) -> None:
        super()._close(window)
        self._teacher.counts.append(self._count)
        self._teacher.others.append(self._other)
        self._other = None


def refuse_too_many(tokens: int, vocabulary: int) -> None:
    """Raise for a micro-batch that would take minutes.

    Raises:
        ValueError: more than MOST probabilities.
    """
    if tokens * vocabulary > MOST:
        raise ValueError(
            f"{tokens} tokens of {vocabulary} words are {tokens * vocabulary:.2g} probabilities in one micro-batch, "
            f"and more than {MOST:.2g} would take minutes to compare: run it once with fewer rows in a micro-batch "
            "or shorter answers"
        )
