"""Every form as a function of one window, for the properties that all of them share."""

from closed_forms import aggregation, counted_samples


def _joined(ranks):
    return [micro_batch for window in ranks for micro_batch in window]


def _count(window):
    return sum(map(sum, window))


def _rows(window):
    return [n for micro_batch in window for n in micro_batch]


# Divide by the targets of the window.
BY_WINDOW = {
    "token_mean": lambda window: aggregation.token_mean(window),
    "first_micro_batches_only": lambda window: counted_samples.first_micro_batches_only(window, 1),
    "last_micro_batch_only": lambda window: counted_samples.last_micro_batch_only(window),
    "repeated_samples": lambda window: counted_samples.repeated_samples(window, [2] * len(_rows(window))),
    "divided_twice": lambda window: aggregation.divided_twice(window),
    "targets_dropped": lambda window: aggregation.targets_dropped(window, [[False] * n for n in _rows(window)]),
    "per_rank_mean": lambda window: aggregation.per_rank_mean([window]),
    "carried_over": lambda window: counted_samples.carried_over([window]),
}

# Divide by the targets of each micro-batch.
BY_MICRO_BATCH = {
    "mean_of_micro_batch_means": lambda window: aggregation.mean_of_micro_batch_means(window),
    "sum_of_micro_batch_means": lambda window: aggregation.sum_of_micro_batch_means(window),
    "short_window": lambda window: aggregation.short_window(window, len(window) + 1),
    "weighted_by_rows": lambda window: aggregation.weighted_by_rows(window),
    "per_rank_mean_of_micro_batch_means": lambda window: aggregation.per_rank_mean_of_micro_batch_means([window]),
}

# Divide by the targets of each row.
BY_ROW = {"per_sequence_mean": lambda window: aggregation.per_sequence_mean(window)}

# Divide by nothing.
UNDIVIDED = {"token_sum": lambda window: aggregation.token_sum(window)}

DIVIDED = BY_WINDOW | BY_MICRO_BATCH | BY_ROW
ALL = DIVIDED | UNDIVIDED

# What the weights of a form sum to.
SUMS = {
    "token_mean": lambda window: 1,
    "first_micro_batches_only": lambda window: sum(window[0]) / _count(window),
    "last_micro_batch_only": lambda window: sum(window[-1]) / _count(window),
    "repeated_samples": lambda window: 1,
    "divided_twice": lambda window: 1 / len(window),
    "targets_dropped": lambda window: 1,
    "per_rank_mean": lambda window: 1,
    "carried_over": lambda window: 1,
    "mean_of_micro_batch_means": lambda window: 1,
    "sum_of_micro_batch_means": lambda window: len(window),
    "short_window": lambda window: len(window) / (len(window) + 1),
    "weighted_by_rows": lambda window: 1,
    "per_rank_mean_of_micro_batch_means": lambda window: 1,
    "per_sequence_mean": lambda window: 1,
    "token_sum": _count,
}
