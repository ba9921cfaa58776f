"""What a trainer logs for one window, as a multiple of the objective that it differentiated.

M micro-batches, N targets. A log that tells the truth is ``equal``. Windows as in ``aggregation.token_mean``.
"""

from ._window import Window, read_window, window_total


def equal(window: Window) -> float:
    """Logged loss over the objective when the log is right.

        1

    Args:
        window: [m][b] targets of row b in micro-batch m.

    Raises:
        ValueError: no micro-batch, a micro-batch without a row, or a count that is not a whole number of at least 0.
    """
    read_window(window)
    return 1.0


def times_micro_batches(window: Window) -> float:
    """Logged loss over the objective when the losses of the micro-batches are added and not averaged.

        M

    Same argument and errors as ``equal``. Reported in https://github.com/huggingface/transformers/issues/35204
    """
    read_window(window)
    return float(len(window))


def over_micro_batches(window: Window) -> float:
    """Logged loss over the objective when the log divides by M once too often.

        1 / M

    Same argument and errors as ``equal``. Reported in https://github.com/huggingface/transformers/issues/11919
    """
    read_window(window)
    return 1 / len(window)


def raw_sum(window: Window) -> float:
    """Logged loss over the objective when the sum over the targets is logged and their mean was differentiated.

        N

    Same argument as ``equal``. The two were mixed up the other way round in
    https://github.com/allenai/open-instruct/issues/995

    Raises:
        ValueError: as ``equal``, and when the window has no target.
    """
    n_b, _ = read_window(window)
    return float(window_total(n_b, "n_b"))


def over_rows(window: Window) -> float:
    """Logged loss over the objective when the log divides a mean by the B_m rows of each micro-batch.

        1 / B_m

    Same argument as ``equal``. Reported in https://github.com/zsyOAOA/ResShift/pull/25

    Raises:
        ValueError: as ``equal``, and when the micro-batches differ in rows: then it depends on the losses.
    """
    read_window(window)
    sizes = sorted({len(rows) for rows in window})
    if len(sizes) > 1:
        raise ValueError(f"every micro-batch needs the same number of rows, got {sizes}: leave the tail out")
    return 1 / sizes[0]


def over_steps_so_far(window: Window, number: int) -> float:
    """Logged loss over the objective when the loss of one window is divided by all steps since the start.

        1 / (w + 1)

    Same errors as ``equal``. Reported in https://github.com/huggingface/transformers/issues/750

    Args:
        window: as there.
        number: w, of the window, 0 for the first.
    """
    read_window(window)
    return 1 / (number + 1)


def over_logging_steps(window: Window, logging_steps: int) -> float:
    """Logged loss over the objective when the log of the first step is divided by the steps between two logs.

        1 / L

    Same errors as ``equal``. Reported in https://github.com/huggingface/transformers/pull/8193

    Args:
        window: as there.
        logging_steps: L.
    """
    read_window(window)
    return 1 / logging_steps
