"""What DPO, KTO and supervised losses give every token of a driven run, by the closed forms."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from closed_forms import dpo, preference, supervised, unpaired

from .objective_bounds import Expected, Form, concentration_error, expected, log_p_error
from .objective_record import Driven, Mismatched, Scored
from .record import Bools, Floats


@dataclass(frozen=True)
class PairOptions:
    """Of DPO's loss; the defaults are TRL's. Names as in ``closed_forms.dpo``; alpha is the divergence's.

    weighted: as WPO has it, TRL's use_weighting.
    """

    beta: float = 0.1
    epsilon: float = 0.0
    tau: float = 0.05
    ld_alpha: float = 1.0
    divergence: str = "reverse_kl"
    alpha: float = 0.5
    weighted: bool = False


def of_dpo(driven: Driven, losses: dict[str, float], options: PairOptions) -> list[list[Expected]]:
    """[window][micro-batch] what the tokens of each pair weigh; losses: loss type -> its weight."""
    return [
        [of_pairs(batch, losses, options, len(window), driven.record.vocabulary) for batch in window]
        for window in driven.windows
    ]


def of_pairs(batch: Scored, losses: dict[str, float], options: PairOptions, k: int, vocabulary: int) -> Expected:
    """One micro-batch of 2 P rows, the chosen above the rejected, of K."""
    form = form_of_pairs(batch, losses, options, k)
    if not options.weighted:
        return of_models(form, batch, vocabulary)
    values, errors = models_of(batch, vocabulary)
    values["concentration"] = batch.concentration
    errors["concentration"] = concentration_error(batch.largest, batch.mask, vocabulary)
    return expected(form, values, errors, vocabulary, batch.amplification, batch.largest)


def form_of_pairs(batch: Scored, losses: dict[str, float], options: PairOptions, k: int) -> Form:
    """The closed form of ``of_pairs``."""
    pairs = len(batch.numbers) // 2
    masks = batch.mask[:pairs], batch.mask[pairs:]

    def form(values: dict[str, Floats]) -> tuple[Floats, Floats]:
        weights, addends = np.zeros(batch.mask.shape), np.zeros(batch.mask.shape)
        models = [(values[name][:pairs], values[name][pairs:]) for name in ("policy", "reference")]
        for name, share in losses.items():
            sides, sizes = of_one_loss(name, masks, models, options)
            if options.weighted:
                certain = values["concentration"][:pairs], values["concentration"][pairs:]
                q = np.prod([dpo.wpo_factor(*side) for side in zip(models[0], certain, masks)], axis=0)[:, None]
                sides, sizes = [q * side for side in sides], [q * size for size in sizes]
            weights += share / k * np.concatenate(sides)
            addends += abs(share) / k * np.concatenate(sizes)
        return weights, addends

    return form


def of_one_loss(
    name: str, masks: tuple[Bools, Bools], models: list[tuple[Floats, Floats]], options: PairOptions
) -> tuple[list[Floats], list[Floats]]:
    """Weights of the chosen and of the rejected tokens, and their addends, each [p, t]; before the window's K."""
    if name == "sft":
        sides = [dpo.sft(masks[0]), np.zeros(masks[1].shape)]
        return sides, sides
    beta, epsilon, tau = options.beta, options.epsilon, options.tau
    factors = dpo.length_desensitized(*masks, options.ld_alpha)
    policy, base = models
    u = [dpo.log_ratio(p, r, d) for p, r, d in zip(policy, base, factors)]
    scores = [dpo.completion_score(name, x, m.sum(1), options.divergence, options.alpha) for x, m in zip(u, masks)]
    if name == "aot":
        margins = [
            np.subtract(*[dpo.log_ratio(t, np.zeros_like(t), d) for t, d in zip(model, factors)]) for model in models
        ]
        w = preference.aot(margins[0], margins[1], beta, epsilon)
        pair = [w, -w]
    else:
        pair = list(dpo.pair_weights(name, scores[0][0], scores[1][0], beta, epsilon, tau))
    largest = addend_of(name, max(float(np.abs(x).max()) for x, _ in scores), beta, epsilon, tau) / len(u[0])
    # A weight of exactly 0 comes from a kink, on the side where the loss does not move.
    sizes = [np.where(w == 0, 0.0, np.maximum(np.abs(w), largest)) for w in pair]
    return (
        [d * (w * s)[:, None] for d, w, (_, s) in zip(factors, pair, scores)],
        [d * (size * s)[:, None] for d, size, (_, s) in zip(factors, sizes, scores)],
    )


def addend_of(name: str, x: float, beta: float, epsilon: float, tau: float) -> float:
    """Largest addend of the weight of a score of at most x, times P; see ``closed_forms.preference``."""
    z, goal = 2 * beta * x, 1 / (2 * beta)
    largest = {
        "ipo": lambda: 2 * (goal + 2 * x),
        "sppo_hard": lambda: 2 * (goal + x),
        "exo_pair": lambda: beta * (z - np.log(epsilon)),
        "discopop": lambda: beta * (1 + (1 + 1 / tau) * (np.exp(z) + z + 1)),
        "robust": lambda: beta / (1 - 2 * epsilon),
    }
    return float(largest.get(name, lambda: beta)())


def of_kto(
    driven: Driven,
    mismatched: list[list[Mismatched]],
    desirable: Sequence[bool],
    *,
    loss_type: str = "kto",
    beta: float = 0.1,
    gain: float = 1.0,
    loss: float = 1.0,
) -> list[list[Expected]]:
    """[window][micro-batch] what the tokens of each completion weigh.

    Args:
        mismatched: [window][micro-batch] the completions behind other prompts; looked at by "kto".
        desirable: by number of the row.
        the others: as in ``closed_forms.unpaired``; gain and loss are TRL's desirable_weight and undesirable_weight.
    """
    return [
        [
            of_answers(batch, other, desirable, (loss_type, beta, gain, loss), len(window), driven.record.vocabulary)
            for batch, other in zip(window, others)
        ]
        for window, others in zip(driven.windows, mismatched)
    ]


def of_answers(
    batch: Scored,
    other: Mismatched,
    desirable: Sequence[bool],
    options: tuple[str, float, float, float],
    k: int,
    v: int,
) -> Expected:
    """One micro-batch of K."""
    form = form_of_answers(batch.mask, other.mask, [desirable[number] for number in batch.numbers], options, k)
    values = {"policy": batch.policy, "reference": batch.reference}
    errors = {name: log_p_error(batch.largest, table, batch.mask, v) for name, table in values.items()}
    if options[0] == "kto":
        more = {"mixed": other.policy, "mixed reference": other.reference}
        errors |= {name: log_p_error(other.largest, table, other.mask, v) for name, table in more.items()}
        values |= more
    return expected(form, values, errors, v, batch.amplification, batch.largest)


def form_of_answers(
    mask: Bools, mixed: Bools, marks: Sequence[bool], options: tuple[str, float, float, float], k: int
) -> Form:
    """The closed form of ``of_answers``; mixed: [b, t] as in Mismatched, marks: [b] desirable."""
    loss_type, beta, gain, loss = options

    def form(values: dict[str, Floats]) -> tuple[Floats, Floats]:
        u = ((values["policy"] - values["reference"]) * mask).sum(1)
        if loss_type == "kto":
            apart = ((values["mixed"] - values["mixed reference"]) * mixed).sum(1)
            w = unpaired.kto(u, marks, beta, unpaired.kto_baseline(apart), gain, loss)
        else:
            w = unpaired.apo_zero_unpaired(u, marks, beta, gain, loss)
        weight = mask * w[:, None] / k
        return weight, np.abs(weight)

    return form


def of_sft(driven: Driven, loss_type: str = "nll", denominators: Sequence[float] | None = None) -> list[list[Expected]]:
    """[window][micro-batch] what each target weighs.

    Args:
        loss_type: "nll" or "dft".
        denominators: [window] N; the targets of the window when left out.
    """
    counts = [int(sum(batch.mask.sum() for batch in window)) for window in driven.windows]
    return [
        [of_targets(batch, loss_type, n, driven.record.vocabulary) for batch in window]
        for window, n in zip(driven.windows, counts if denominators is None else denominators)
    ]


def of_targets(batch: Scored, loss_type: str, denominator: float, v: int) -> Expected:
    """One micro-batch."""
    return of_models(form_of_targets(batch, loss_type, denominator), batch, v)


def form_of_targets(batch: Scored, loss_type: str, denominator: float) -> Form:
    """The closed form of ``of_targets``."""

    def form(values: dict[str, Floats]) -> tuple[Floats, Floats]:
        if loss_type == "dft":
            weight = supervised.dft(values["policy"], batch.mask, denominator)
        else:
            weight = supervised.nll(batch.mask, denominator)
        return weight, np.abs(weight)

    return form


def of_models(form: Form, batch: Scored, vocabulary: int) -> Expected:
    """A form of the policy's and the reference's log-probabilities."""
    return expected(form, *models_of(batch, vocabulary), vocabulary, batch.amplification, batch.largest)


def models_of(batch: Scored, vocabulary: int) -> tuple[dict[str, Floats], dict[str, Floats]]:
    """The log-probabilities of policy and reference, and how far each may be off."""
    values = {"policy": batch.policy, "reference": batch.reference}
    return values, {name: log_p_error(batch.largest, table, batch.mask, vocabulary) for name, table in values.items()}
