"""What a driven TRL trainer leaves behind for the closed forms: rows, weights, log-probabilities. Numbers only.

Letters: b rows of a micro-batch, t places: place t of a row stands for its token t + 1.
"""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from .record import Bools, Floats, Record


@dataclass(frozen=True)
class Scored:
    """One micro-batch, its rows padded to [b, t].

    Attributes:
        numbers: [b] which row of the script it is; -1 for a row of which the loss should see no token.
        mask: [b, t] the script says that the token is scored.
        weight, uniform, amplification: [b, t] as in record.Row; 0 in the padding.
        policy, old, reference: [b, t] log p of the token under the policy of the window, the policy that generated it,
            and the reference; 0 where there is none.
        entropy: [b, t] of the policy of the window, nats; concentration: [b, t] log sum_v pi(v)^2 of the same.
        largest: [b, t] largest |logit| of these models there.
        generation: which generation its completions come from; -1 where none were generated.
    """

    numbers: NDArray[np.int64]
    mask: Bools
    weight: Floats
    uniform: Floats
    amplification: Floats
    policy: Floats
    old: Floats
    reference: Floats
    entropy: Floats
    concentration: Floats
    largest: Floats
    generation: int


@dataclass
class Driven:
    """What a run left behind.

    Attributes:
        record: of the live instrument.
        windows: [window][micro-batch].
        generations: [generation] numbers of the completions, in the order in which they were handed to the trainer.
    """

    record: Record
    windows: list[list[Scored]]
    generations: list[list[int]] = field(default_factory=list)


@dataclass(frozen=True)
class Mismatched:
    """KTO: the completions of one micro-batch, each behind the prompt after its own; [b, t] as in Scored."""

    mask: Bools
    policy: Floats
    reference: Floats
    largest: Floats


@dataclass(frozen=True)
class Rewarded:
    """One micro-batch of a reward model, the chosen rows above the rejected.

    Attributes:
        numbers: [b] 2 p for the chosen row of pair p, 2 p + 1 for the rejected.
        last: [b] place of the row's last token; here place t stands for token t.
        weight: [b, t] of the reward as it would be read at each place, -dL/dr: the gradient at the final hidden state
            over that of the reward.
        remainder: [b, t] what this leaves of the gradient.
        reward: [b] of the model, at the parameters of the window.
    """

    numbers: NDArray[np.int64]
    last: NDArray[np.int64]
    weight: Floats
    remainder: Floats
    reward: Floats


@dataclass(frozen=True)
class Taught:
    """One micro-batch of a student; n = place of a row, which stands for its token n + 1.

    Attributes:
        numbers: [b] which answer it is.
        marks: [b][n] the token is of the completion.
        said: [b][n] id of the token.
        pull: [b][n, h] the negative gradient at the final hidden state.
        student, teacher: [b][n, v] logits at the parameters of the window; of a teacher with a tokenizer of its own,
            [b][m, w] at all but the last token of the row that it reads.
        head: [v, h] of the student, at the parameters of the window.
        drift: [b][n] log p of the token less what it was when it was generated; 0 where nothing is known of that.
    """

    numbers: NDArray[np.int64]
    marks: list[Bools]
    said: list[NDArray[np.int64]]
    pull: list[Floats]
    student: list[Floats]
    teacher: list[Floats]
    head: Floats
    drift: list[Floats]


@dataclass(frozen=True)
class Spelled:
    """The tokens of a completion, with its end of sequence.

    Attributes:
        start: tokens of its prompt.
        said: ids.
        ends: where each token ends, in bytes from the first of the completion; the end of sequence is one byte more.
    """

    start: int
    said: list[int]
    ends: list[int]


@dataclass(frozen=True)
class Bonus:
    """One micro-batch of a policy with an entropy bonus, [b, t] as in Scored.

    Attributes:
        share: c in g = w r + c e, where r is the gradient of log p and e that of the entropy at the hidden state.
        remainder: |g - w r - c e| over |e|.
        amplification: largest column of d hidden / d logits over |e| sin(r, e).
    """

    share: Floats
    remainder: Floats
    amplification: Floats


@dataclass(frozen=True)
class Compared:
    """One micro-batch beside its closed form.

    Attributes:
        numbers: [b] as in Scored.
        measured, expected: [b, t] weights.
        allowed: [b, t] how far rounding explains that they differ; nan where nothing can be told.
    """

    numbers: NDArray[np.int64]
    measured: Floats
    expected: Floats
    allowed: Floats


Windows = list[list[Compared]]


@dataclass
class ObjectiveRun:
    """A check of an objective.

    Attributes:
        windows: [window][micro-batch] beside the closed form that TRL is known to follow.
        changes: what the loop set differently from the trainer's defaults.
        documented: the same beside what the documentation says, where the two differ.
        known: how they differ, in words.
        apart: what the weights do not show to be wrong, in words: a gradient that points elsewhere.
    """

    windows: Windows
    changes: dict[str, str]
    documented: Windows | None = None
    known: str = ""
    apart: str = ""


@dataclass(frozen=True)
class NotRun:
    """A check that the installed version cannot run.

    Attributes:
        reason: in words.
        changes: none.
    """

    reason: str
    changes: dict[str, str] = field(default_factory=dict)
