"""What CPO, SimPO, AlphaPO, TPO and ORPO give every token of a driven run, by the closed forms."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from closed_forms import dpo, preference, reference_free

from .objective_bounds import Expected, Form
from .objective_pairs import addend_of, of_models
from .objective_record import Driven, Scored
from .record import Bools, Floats


@dataclass(frozen=True)
class FreeOptions:
    """Of CPO's loss, by the names of CPOConfig; epsilon is label_smoothing. The defaults are TRL's.

    Of TPO's too, whose "tpo-l" is simpo: simpo_gamma is then tpo_l_gamma.
    """

    loss_type: str = "sigmoid"
    beta: float = 0.1
    epsilon: float = 0.0
    simpo_gamma: float = 0.5
    alpha: float = 0.0
    cpo_alpha: float = 1.0


def of_cpo(driven: Driven, options: FreeOptions) -> list[list[Expected]]:
    """[window][micro-batch] what the tokens of each pair weigh."""
    return [
        [of_models(cpo_form(options, batch.mask, len(window)), batch, driven.record.vocabulary) for batch in window]
        for window in driven.windows
    ]


def cpo_form(options: FreeOptions, mask: Bools, k: int) -> Form:
    """One micro-batch of K, the chosen rows above the rejected."""
    pairs, lengths = len(mask) // 2, mask.sum(1)
    per_token = lengths if options.loss_type in ("ipo", "simpo", "tpo-l") else np.ones(len(mask))

    def form(values: dict[str, Floats]) -> tuple[Floats, Floats]:
        score, slope = reference_free.alphapo_score((values["policy"] * mask).sum(1) / per_token, options.alpha)
        w = np.concatenate(pair_weights(options, score[:pairs], score[pairs:]))
        largest = addend_of(options.loss_type, float(np.abs(score).max()), options.beta, 0.0, 1.0) / pairs
        sizes = np.where(w == 0, 0.0, np.maximum(np.abs(w), largest))
        answers = np.zeros(mask.shape)
        answers[:pairs] = options.cpo_alpha * dpo.sft(mask[:pairs])
        weight, size = (mask * (side * slope / per_token)[:, None] for side in (w, sizes))
        return (weight + answers) / k, (size + answers) / k

    return form


def pair_weights(options: FreeOptions, x: Floats, y: Floats) -> tuple[Floats, Floats]:
    """Weights of the scores of the chosen and of the rejected completions."""
    beta, epsilon = options.beta, options.epsilon
    forms = {
        "sigmoid": lambda: preference.smoothed_sigmoid(x, y, beta, epsilon),
        "simpo": lambda: reference_free.simpo(x, y, beta, options.simpo_gamma, epsilon),
        "tpo-l": lambda: reference_free.simpo(x, y, beta, options.simpo_gamma, epsilon),
        "hinge": lambda: preference.hinge(x, y, beta),
        "ipo": lambda: preference.ipo(x, y, beta),
    }
    return forms[options.loss_type]()


def of_tpo(driven: Driven, options: FreeOptions, tpo_alpha: float) -> list[list[Expected]]:
    """[window][micro-batch] what the tokens of each pair and of its gold completion weigh."""
    return [
        [
            of_models(tpo_form(options, tpo_alpha, batch.mask, len(window)), batch, driven.record.vocabulary)
            for batch in window
        ]
        for window in driven.windows
    ]


def tpo_form(options: FreeOptions, tpo_alpha: float, mask: Bools, k: int) -> Form:
    """One micro-batch of K, the chosen rows above the rejected above the gold ones; these run if tpo_alpha is not 0."""
    rows = len(mask) // 3 * 2 if tpo_alpha else len(mask)
    of_pairs = cpo_form(replace(options, cpo_alpha=0.0), mask[:rows], k)
    gold = tpo_alpha / k * dpo.sft(mask[rows:]) if tpo_alpha else np.zeros((0, mask.shape[1]))

    def form(values: dict[str, Floats]) -> tuple[Floats, Floats]:
        weight, size = of_pairs({name: table[:rows] for name, table in values.items()})
        return np.concatenate([weight, gold]), np.concatenate([size, gold])

    return form


def of_orpo(driven: Driven, prompts: Sequence[int], beta: float) -> list[list[Expected]]:
    """[window][micro-batch] what the tokens of each pair weigh; prompts: [p] how many tokens the prompt has."""
    return [
        [of_odds(batch, prompts, beta, len(window), driven.record.vocabulary) for batch in window]
        for window in driven.windows
    ]


def of_odds(batch: Scored, prompts: Sequence[int], beta: float, k: int, vocabulary: int) -> Expected:
    """One micro-batch of K."""
    starts = np.array([prompts[number // 2] - 1 for number in batch.numbers])
    own = batch.mask & (np.arange(batch.mask.shape[1]) >= starts[:, None])
    return of_models(odds_form(batch.mask, own, beta, k), batch, vocabulary)


def odds_form(mask: Bools, own: Bools, beta: float, k: int) -> Form:
    """The closed form of ``of_odds``; mask: tokens that the answers' own loss scores, own: those of the completions."""
    pairs, lengths = len(mask) // 2, own.sum(1)
    answers = np.zeros(own.shape)
    answers[:pairs] = dpo.sft(mask[:pairs])

    def form(values: dict[str, Floats]) -> tuple[Floats, Floats]:
        mean = (values["policy"] * own).sum(1) / lengths
        w = np.concatenate(reference_free.orpo(mean[:pairs], mean[pairs:], beta))
        weight = own * (w / lengths)[:, None]
        return (weight + answers) / k, (np.abs(weight) + answers) / k

    return form
