"""Reads what each token of a student weighs in the divergence from its teacher, as the gradients arrive.

The teacher's own forward is heard where the trainer makes it: its final hidden states become logits again through its
own head, and those of the student through the student's. The weight of a token is the negative gradient at its hidden
state over that of the divergence there: 1/N each under a token mean, whatever the words are; see objective_distilled.

Letters: b rows, t tokens, n places that are read, h hidden size, v vocabulary.
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ..capture import Replay
from ..captured import CapturedWindow
from ..forward import Forward, hidden_states, named_arguments
from ..live import LinearHead, LiveReading
from ..live_record import LiveRecorder, documents_of, masked, refuse_sharded_head
from ..locate import Head, Place, locate
from ..objective_distilled import Support, apart, as_amplification, fitting, share_of
from ..objective_record import Taught
from ..record import Record
from .heard import Hearing, locals_of

# Probabilities of one micro-batch, tokens times words: some 80 seconds on one core.
MOST = 2**27
# Of them at once: some 30 MB in each of a few tables.
AT_ONCE = 2**22


@dataclass
class Lesson:
    """What a teacher said of one micro-batch.

    Attributes:
        ids: [b, t'] tokens that it read; hidden: [b, t', h'] what its head turns into logits.
        marks: [b, t] which tokens of the student's rows are learned from it, the last t of them where there are more.
        count: by what the trainer was told to divide, nan if by nothing.
        ratios: the trainer corrects for another sampler.
    """

    ids: Tensor
    hidden: Any
    marks: Tensor
    count: float
    ratios: bool


class Teacher(Hearing):
    """Hears a teacher, and keeps its last lesson until the next.

    Args:
        trainer: whose teacher it is.

    Attributes:
        counts: [window] by what the trainer divided its last micro-batch; nan where that is not known.
        others: [window] None where the gradients are those of the trainer's divergence; else beta and temperature of
            the one that fits, or empty.
    """

    def __init__(self, trainer: Any) -> None:
        super().__init__("", None)
        self.trainer, self.labelled = trainer, True
        self._place: Place | None = None
        self.lesson: Lesson | None = None
        self.head: Head | None = None
        self.counts: list[float] = []
        self.others: list[tuple[float, ...] | None] = []

    def find(self) -> None:
        """Find where the teacher can be read.

        Raises:
            ValueError: it is no causal model.
            NotImplementedError: its head is sharded.
        """
        self._place = locate(self.trainer.teacher_model)
        refuse_sharded_head(self._place.root)

    def listen(self, module: Any) -> None:
        """Hear the teacher from now on."""
        assert self._place is not None
        self._handles = [self._place.read_point.register_forward_hook(self.after, with_kwargs=True)]

    def after(self, module: Any, args: Any, kwargs: dict[str, Any], output: Any) -> None:
        """Note what the teacher gave, where its trainer compares it with the student."""
        if Replay.running or torch.is_grad_enabled():
            return
        ids, marks = named_arguments(module, args, kwargs).get("input_ids"), marks_of_the_loss()
        if not isinstance(ids, Tensor) or marks is None:
            return
        whole = locals_of("compute_loss")
        count = whole.get("num_items_in_batch")
        ratios = whole.get("inputs", {}).get("old_per_token_logps") is not None
        self.lesson = Lesson(
            ids, hidden_states(output).detach(), marks, math.nan if count is None else float(count), ratios
        )
        if self.head is None and self._place is not None:
            with Replay(), torch.random.fork_rng(devices=[]):
                self.head = self._place.recognise(output)

    def logits(self, hidden_nh: Tensor) -> Tensor:
        """[n, v] of the teacher."""
        assert self.head is not None
        return logits_of(self.head, hidden_nh)

    def by_completion(self) -> bool:
        """Whether the trainer averages each completion by itself: the class of SDFT."""
        return hasattr(self.trainer.args, "distillation_alpha")

    def options(self) -> tuple[float, float, Support]:
        """beta, temperature and support of the trainer's divergence."""
        args = self.trainer.args
        if self.by_completion():
            words = args.distillation_topk if args.distillation_mode == "topk_logits" else None
            return args.distillation_alpha, args.temperature, Support(words, args.distillation_add_tail)
        # GKD draws by its temperature, and compares without.
        kinds = [kind.__name__ for kind in type(self.trainer).__mro__]
        return args.beta, 1.0 if "GKDTrainer" in kinds else args.temperature, Support()


def marks_of_the_loss() -> Tensor | None:
    """Which tokens the trainer compares, in the function that runs its teacher now; None in any other."""
    for function in ("_compute_teacher_student_logits", "_compute_loss"):
        mask = locals_of(function).get("loss_mask")
        if isinstance(mask, Tensor):
            return mask > 0
    labels = locals_of("compute_loss").get("inputs", {}).get("labels")
    return labels != -100 if isinstance(labels, Tensor) else None


def logits_of(head: Head, hidden_nh: Tensor) -> Tensor:
    """[n, v] in float64, from hidden states as they are."""
    with torch.no_grad():
        if isinstance(head, LinearHead):
            return head.slice(hidden_nh.double(), 0, head.vocabulary)[0]
        return head.slice(hidden_nh, 0, head.vocabulary)[0].double()


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
        beta, temperature, _ = teacher.options()
        where = f"{found.where}, of the divergence from the teacher with beta = {beta:g} at temperature {temperature:g}"
        self.record = Record("live", where, 0, "", "", notes=self.capture.notes)
        if teacher.by_completion():
            self.record.expect = "per-sequence mean"

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
        for part in places.split(max(1, AT_ONCE // head.vocabulary)):
            b, t = part.unbind(-1)
            pushed = (
                -gradient_bth[b, t].double(),
                logits_of(head, hidden_bth[b, t]),
                self._taught(lesson, ids_bt, b, t),
            )
            at = b.cpu().numpy(), t.cpu().numpy()
            for name, values in self._weigh(head, scored_bt[b, t], next_bt[b, t], *pushed).items():
                read[name][at] = values
        tables = {"ids": ids_bt, "mask": mask_bt, "target": next_bt, "scored": scored_bt}
        tables |= {"document": documents_of(forward)}
        tables |= {
            name: torch.where(at, size_bt, 0).max() for name, at in (("on_padding", ~mask_bt), ("on_tokens", mask_bt))
        }
        return {**{name: values.cpu().numpy() for name, values in tables.items()}, **read}

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
        self, head: LinearHead, scored_n: Tensor, said_n: Tensor, pull_nh: Tensor, student_nv: Tensor, taught_nv: Tensor
    ) -> dict[str, Any]:
        """Fields of LiveReading, [n]."""
        beta, temperature, support = self._teacher.options()
        scored, said, pull, student, taught, matrix = (
            x.detach().cpu().numpy()
            for x in (scored_n, said_n, pull_nh, student_nv, taught_nv, head.linear.weight.double())
        )
        none = [np.zeros(said.size)]
        batch = Taught(np.zeros(1, np.int64), [scored], [said], [pull], [student], [taught], matrix, none)
        share = share_of(batch, beta, temperature, support)
        options = beta, temperature, head.vocabulary, support
        if self._other is None and apart([[batch]], *options):
            self._other = fitting([[batch]], *options)
        loss = np.log(np.exp(student - student.max(1, keepdims=True)).sum(1)) + student.max(1)
        return {
            "weight": share.weight[0],
            "cosine": np.sign(share.weight[0]),
            "remainder": share.remainder[0],
            "uniform": np.zeros(len(said)),
            "loss": loss - student[np.arange(len(said)), said],
            "uniform_loss": np.full(len(said), math.nan),
            "amplification": as_amplification(share, head.vocabulary)[0],
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
