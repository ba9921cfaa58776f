"""Whether the measured weights of a driven run are those of a closed form."""

import numpy as np

from .objective_record import NotRun, ObjectiveRun, Windows


def miss(windows: Windows) -> tuple[float, str]:
    """Largest |w - expected| over the run's largest weight, and the first token that is off by more than rounding.

    A token of which rounding hides a tenth of the weight or more is left out; where that is more than half of those
    that should weigh something, nothing was shown, and this is what is said; likewise where no
    micro-batch was read.
    """
    if not any(windows):
        return 0.0, "no micro-batch came to the read point, so no weight was measured"
    scale = max(float(np.abs(batch.expected).max()) for window in windows for batch in window) or 1.0
    largest, first, blind, weighing = 0.0, "", 0, 0
    for number, window in enumerate(windows):
        for batch in window:
            off = np.abs(batch.measured - batch.expected)
            told = ~np.isnan(batch.allowed)
            largest = max(largest, float(off[told].max(initial=0.0)) / scale)
            bad = np.argwhere(told & ~(off <= batch.allowed))
            blind += int((~told).sum())
            weighing += int((batch.expected != 0).sum())
            if bad.size and not first:
                b, t = bad[0]
                first = (
                    f"window {number}, row {batch.numbers[b]}, token {t + 1} weighs {batch.measured[b, t]:.6g}, "
                    f"the closed form gives {batch.expected[b, t]:.6g}"
                )
    if not first and 2 * blind > weighing:
        first = f"rounding hides the weights of {blind} tokens, of {weighing} that should weigh something"
    return largest, first


def judge_objective(run: ObjectiveRun | NotRun, logged: list[float]) -> tuple[str, str, float]:
    """ok for the documented weights, known for those that TRL is known to give instead, FAULT for any others."""
    if isinstance(run, NotRun):
        return run.reason, "not run", float("nan")
    if run.apart:
        return run.apart, "FAULT", miss(run.windows)[0]
    if run.documented is not None:
        largest, first = miss(run.documented)
        if not first:
            return "the documented weights", "ok", largest
    largest, first = miss(run.windows)
    if first:
        return first, "FAULT", largest
    return run.known or "the closed form", "known" if run.documented is not None else "ok", largest
