"""What GRPO's entropy bonus gives every completion token of a driven run, by the closed form.

The gradient at the final hidden state is g = w r + c e: the policy's weight w along r = d(log p)/dh, and the bonus's
share c along e = dH/dh. Both are found by least squares, so an error of g, in units of the largest column of the head's
Jacobian, reaches each of them times its amplification. g errs as for any weight (``objective_bounds``) by w times the
relative error there, and by c times that of the push of H, of which the entries p_v (log p_v + H) err like those of a
divergence (``objective_distilled``) and the head's sum of them by 4 x 2 sqrt(V) of their sizes:

    u c ((2 (6 M + V/4 + 3 log V + 6) + 8 sqrt(V)) (2 + 2 M + log V) + 240)
"""

from collections.abc import Sequence

import numpy as np

from closed_forms import policy_masks, regularizers, rounding

from .objective_bounds import Expected
from .objective_policy import Options, Rewards, of_grpo
from .objective_record import Bonus, Compared, Driven, Scored
from .record import Floats


def push(logits: Floats) -> Floats:
    """[n, v] -dL/dz of the bonus at each position by itself, for a coefficient of 1."""
    return regularizers.entropy_bonus(logits, 1.0)


def of_policy(
    driven: Driven, bonus: list[list[Bonus]], rewards: Rewards, group: int, options: Options
) -> list[list[Expected]]:
    """[window][micro-batch] as ``of_grpo``: the bonus adds nothing to the policy's weight but rounding."""
    forms = of_grpo(driven, rewards, group, options)
    return [
        [
            Expected(form.weight, form.allowed + batch.amplification * error_of_bonus(batch, part.share, driven))
            for form, batch, part in zip(*window)
        ]
        for window in zip(forms, driven.windows, bonus)
    ]


def of_bonus(
    driven: Driven, bonus: list[list[Bonus]], coefficients: Sequence[float], kept: float = 1.0, whole: bool = False
) -> list[list[Compared]]:
    """[window][micro-batch] the share of each token beside c / (n_m K), n_m tokens of the micro-batch, or c / N.

    Args:
        coefficients: [window] c.
        kept: top_entropy_quantile.
        whole: with N, all tokens of the window.
    """
    found: list[list[Compared]] = []
    for window, parts, c in zip(driven.windows, bonus, coefficients):
        masks = [policy_masks.high_entropy(batch.entropy, batch.mask, kept) for batch in window]
        total = sum(int(mask.sum()) for mask in masks)
        found.append([])
        for batch, part, mask in zip(window, parts, masks):
            count = total if whole else int(mask.sum()) * len(window)
            share = np.asarray(mask * c / max(count, 1))
            found[-1].append(Compared(batch.numbers, part.share, share, allowed_of(batch, part, share, driven)))
    return found


def allowed_of(batch: Scored, part: Bonus, share: Floats, driven: Driven) -> Floats:
    """[b, t] how far a share may be off; nan where that is a tenth of it or more."""
    error = np.zeros_like(share)
    seen = batch.mask & (part.amplification > 0)
    a, largest, v = part.amplification[seen], batch.largest[seen], driven.record.vocabulary
    reading = rounding.weight_tolerance(v, "float32", "float32", a)
    error[seen] = np.abs(batch.weight[seen]) * (reading + 4 * a * largest * rounding.unit_roundoff("float32"))
    error += part.amplification * error_of_bonus(batch, part.share, driven)
    return np.where((share != 0) & (error > 0.1 * share), np.nan, error)


def error_of_bonus(batch: Scored, share: Floats, driven: Driven) -> Floats:
    """[b, t] derived above; exactly 0 where nothing is scored."""
    v, u = driven.record.vocabulary, rounding.unit_roundoff("float32")
    one = 6 * batch.largest + v / 4 + 3 * np.log(v) + 6
    size = (2 * one + 8 * np.sqrt(v)) * (2 + 2 * batch.largest + np.log(v)) + 240
    return np.asarray(np.where(batch.mask, u * size * np.abs(share), 0.0))


def elsewhere(driven: Driven, bonus: list[list[Bonus]], forms: list[list[Compared]]) -> str:
    """Empty where policy and bonus explain each gradient; else the first token where they do not."""
    for number, window in enumerate(zip(driven.windows, bonus, forms)):
        for batch, part, form in zip(*window):
            bad = np.argwhere(batch.mask & (part.remainder > np.nan_to_num(form.allowed, nan=np.inf)))
            if bad.size:
                b, t = bad[0]
                return (
                    f"window {number}, row {batch.numbers[b]}, token {t + 1}: the gradient is not the policy's with an "
                    f"entropy bonus, which leave {part.remainder[b, t]:.3g} of it, in units of the bonus"
                )
    return ""


def entropies_of(driven: Driven, kept: float = 1.0) -> list[float]:
    """[window] mean entropy of the tokens that the bonus acts on."""
    means = []
    for window in driven.windows:
        masks = [policy_masks.high_entropy(batch.entropy, batch.mask, kept) for batch in window]
        total = sum(float(batch.entropy[mask].sum()) for batch, mask in zip(window, masks))
        means.append(total / max(sum(int(mask.sum()) for mask in masks), 1))
    return means
