"""Hears a teacher where its trainer asks it: what it made of the student's tokens, and which of them are learned.

Letters: b rows, t tokens, n places that are read, h hidden size, v vocabulary.
"""

import math
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from ..capture import Replay
from ..forward import hidden_states, named_arguments
from ..live import LinearHead
from ..live_record import refuse_sharded_head
from ..locate import Head, Place, locate
from .heard import Hearing, locals_of
from .lessons import units_of


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
        units: in which its student is read.
        counts: [window] by what the trainer divided its last micro-batch; nan where that is not known.
        others: [window] None where the gradients are those of the trainer's divergence; else beta and temperature of
            the one that fits, or empty.
    """

    def __init__(self, trainer: Any) -> None:
        super().__init__("", None)
        self.trainer, self.labelled, self.units = trainer, True, units_of(trainer)
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
