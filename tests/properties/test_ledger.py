"""R14: each sample runs exactly once in an epoch, on one rank or two, whatever stands around it in a batch."""

import numpy as np
import pytest
import torch
from hypothesis import example, given
from hypothesis import strategies as st

from closed_forms.shares import filled_up
from instrument import watch
from instrument.ledger import ledger, sample_id, times
from instrument.loops.data import padding_collator
from instrument.loops.trainer import run_trainer
from tests.instrument.records import a_record, a_row, a_window
from tests.properties.loops import live_model, live_rows
from tests.properties.strategies import RANKS, few, rank_shapes
from tests.ranks.jobs import watched
from tests.ranks.pool import measured
from tests.strategies import Shape, shapes

SHUFFLED = {"train_sampling_strategy": "random", "data_seed": 1}
DISPATCHED = {"accelerator_config": {"dispatch_batches": True}, "pad_to": 7}
RUNS = {
    "trainer": ("trainer", {}),
    "shuffled": ("trainer", SHUFFLED),
    "two epochs": ("trainer", {**SHUFFLED, "num_train_epochs": 2}),
    "dispatched": ("trainer", DISPATCHED),
    "loader's workers": ("trainer", {**SHUFFLED, "dataloader_num_workers": 2}),
    "accelerate": ("accelerate", {}),
    "by hand": ("ddp", {}),
}
lengths = st.lists(st.integers(2, 7), min_size=1, max_size=9)


def rows_of(shape):
    return live_rows(shape.lengths, shape.seed)


@pytest.mark.parametrize("options", [{}, SHUFFLED], ids=["in order", "shuffled"])
@few
@given(lengths=lengths, epochs=st.integers(1, 2), micro_batch=st.integers(1, 3), accumulation=st.integers(1, 3))
def test_each_sample_runs_once_an_epoch_on_one_rank(options, lengths, epochs, micro_batch, accumulation):
    rows, model = live_rows(lengths, 0), live_model(0)
    with watch(model) as report:
        run_trainer(model, rows, micro_batch=micro_batch, accumulation=accumulation, num_train_epochs=epochs, **options)

    report.assert_each_sample_once(rows, epochs)


@few
# Few draws have a window behind the first one that overflows.
@example(
    shape=Shape((2, 4, 5, 3), ((True,), (True,) * 3, (True,) * 4, (True,) * 2), 1, 2, 0), overflows={1}, padding="left"
)
@given(shape=shapes(masks=False), overflows=st.sets(st.integers(0, 5)), padding=st.sampled_from(["left", "right"]))
def test_each_sample_stands_once_in_the_ledger_used_or_left_out(shape, overflows, padding):
    rows, model = live_rows(shape.lengths, shape.seed), live_model(0)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    collate = padding_collator(padding, 0)
    batches = [collate([{"input_ids": rows[b], "labels": rows[b]} for b in m]) for m in shape.micro_batches()]
    used, left = [], []
    # The first window is right, or there were nothing to weigh.
    with watch(model, optimizer) as report:
        for window, start in enumerate(range(0, len(batches), shape.accumulation)):
            spoilt = window > 0 and window in overflows
            parts = list(range(start, min(start + shape.accumulation, len(batches))))
            for m in parts:
                loss = model(**batches[m]).loss
                (loss * float("inf") if spoilt and m == parts[-1] else loss).backward()
            (left if spoilt else used).extend(sample_id(rows[b]) for m in parts for b in shape.micro_batches()[m])
            if not spoilt:
                optimizer.step()
            optimizer.zero_grad()

    entries = report.ledger()
    assert [e.sample for e in entries if e.used] == used
    assert [e.sample for e in entries if not e.used] == left
    assert times(entries, rows) == shared_by_equals([1] * len(rows), rows)
    assert all((e.targets, e.due) == (0, 0) for e in entries if not e.used)


@pytest.mark.parametrize("run", RUNS)
@few
@given(shape=rank_shapes())
def test_each_sample_runs_once_an_epoch_on_one_of_two_ranks(run, shape):
    rows = rows_of(shape)
    loop, options = RUNS[run]
    split = {"micro_batch": shape.micro_batch, "accumulation": shape.accumulation, **options}

    report = measured(watched, loop, shape.seed, rows, rows, split)

    report.assert_each_sample_once(rows, options.get("num_train_epochs", 1))


@pytest.mark.parametrize("options", [{}, {"dispatch": True, "pad_to": 7}], ids=["read by each", "dispatched"])
@few
@given(shape=rank_shapes())
def test_each_sample_of_a_stream_runs_once_on_one_of_two_ranks(options, shape):
    rows = rows_of(shape)

    report = measured(watched, "stream", shape.seed, rows, rows, {"micro_batch": shape.micro_batch, **options})

    report.assert_each_sample_once(rows)
    report.assert_token_mean()


@pytest.mark.parametrize("parted", [True, False], ids=["a part", "all of it"])
@few
@given(shape=rank_shapes())
def test_a_sample_of_a_stream_runs_as_often_as_the_workers_of_a_loader_read_it(parted, shape):
    # Each worker fills its own batches, so that each gets as many rows as fill them on both ranks.
    rows = live_rows(2 * shape.lengths, shape.seed)

    report = measured(
        watched, "stream", shape.seed, rows, rows, {"micro_batch": shape.micro_batch, "workers": 2, "parted": parted}
    )

    counts = [1 if parted else 2] * len(rows)
    assert times(report.ledger(), rows) == shared_by_equals(counts, rows)
    report.assert_token_mean()


@few
@given(shape=rank_shapes())
def test_without_even_batches_a_short_last_batch_is_not_filled_up(shape):
    # A batch more on one rank, and the Trainer waits for the other one for ever.
    rows = rows_of(shape)[: None if shape.micro_batch == 1 else -1]
    options = {"micro_batch": shape.micro_batch, "accelerator_config": {"even_batches": False}}

    report = measured(watched, "trainer", shape.seed, rows, rows, options)

    report.assert_each_sample_once(rows)
    report.assert_token_mean()


@few
@given(shape=rank_shapes(uneven=True), shuffle=st.booleans())
def test_a_distributed_sampler_deals_each_sample_once_and_repeats_the_first_where_one_is_lacking(shape, shuffle):
    rows = rows_of(shape)

    report = measured(
        watched, "sampled", shape.seed, rows, rows, {"micro_batch": shape.micro_batch, "epochs": 2, "shuffle": shuffle}
    )

    counts = [0] * len(rows)
    for epoch in range(2):
        drawn = torch.Generator().manual_seed(1 + epoch)
        order = torch.randperm(len(rows), generator=drawn).tolist() if shuffle else list(range(len(rows)))
        for number in [*order, *order[: len(rows) % RANKS]]:
            counts[number] += 1
    assert times(report.ledger(), rows) == shared_by_equals(counts, rows)
    report.assert_token_mean()


@few
@given(shape=rank_shapes(uneven=True))
def test_what_a_rank_lacks_is_filled_up_from_the_front(shape):
    rows = rows_of(shape)

    report = measured(watched, "trainer", shape.seed, rows, rows, {"micro_batch": shape.micro_batch})

    (expected,) = filled_up(len(rows), RANKS, shape.micro_batch)
    assert times(report.ledger(), rows) == shared_by_equals(expected.tolist(), rows)


def shared_by_equals(counts, rows):
    """Rows that are equal token by token are one sample, whose runs each of them is said to have its share of."""
    runs = [sum(c for c, row in zip(counts, rows) if row == same) // rows.count(same) for same in rows]
    return runs


@few
@given(shape=rank_shapes())
def test_every_target_was_divided_by_the_targets_of_all_ranks(shape):
    rows = rows_of(shape)

    report = measured(watched, "trainer", shape.seed, rows, rows, {"micro_batch": shape.micro_batch})

    for entry in report.ledger():
        assert entry.divisor == pytest.approx(entry.due, rel=2 * report.rounding())


@few
@given(lengths=st.lists(st.integers(2, 7), min_size=2, max_size=4), seed=st.integers(0, 9))
def test_a_sample_is_known_padded_on_either_side_and_packed(lengths, seed):
    rows = live_rows(lengths, seed)
    entries = []
    for side in ("left", "right"):
        model = live_model(0)
        with watch(model) as report:
            run_trainer(model, rows, micro_batch=len(rows), padding_side=side, pad_to=9)
        entries.append([entry.sample for entry in report.ledger()])
    flat = torch.tensor([[token for row in rows for token in row]])
    positions = torch.tensor([[t for row in rows for t in range(len(row))]])
    labels = torch.tensor([[-100 if t == 0 else token for row in rows for t, token in enumerate(row)]])
    model = live_model(0)
    with watch(model) as report:
        model(input_ids=flat, position_ids=positions, labels=labels, use_cache=False).loss.backward()
    entries.append([entry.sample for entry in ledger(report.record)])

    assert entries[0] == entries[1] == entries[2]
    assert [entry.targets for entry in report.ledger()] == [len(row) - 1 for row in rows]


# Few ids and short samples, so that some are permutations, and some beginnings, of others.
alike = st.lists(st.lists(st.integers(5, 7), min_size=2, max_size=4), min_size=1, max_size=8)


@given(runs=alike, others=alike)
def test_a_sample_is_told_from_every_other_by_all_its_tokens_in_their_order(runs, others):
    rows = [a_row([1.0] * (len(ids) - 1), ids=np.array(ids)) for ids in runs]
    entries = ledger(a_record(*[a_window(row) for row in rows]))
    samples = [list(sample) for sample in dict.fromkeys(map(tuple, [*runs, *others]))]

    assert times(entries, samples) == [runs.count(sample) for sample in samples]


@st.composite
def documents(draw):
    """Scored marks of the documents of a row, each with a target but for the first token; and the weights of each."""
    found = []
    for _ in range(draw(st.integers(1, 3))):
        n = draw(st.integers(1, 4))
        weights = draw(st.lists(st.sampled_from([0.1, 0.25]), min_size=n, max_size=n))
        found.append(weights if draw(st.booleans()) else [weights[0]] * n)
    return found


@given(window=st.lists(documents(), min_size=1, max_size=4), micro_batch=st.integers(1, 2))
def test_a_divisor_is_told_where_all_targets_have_it_and_what_is_due_is_the_windows(window, micro_batch):
    rows = []
    for b, parts in enumerate(window):
        starts = np.cumsum([0, *(len(part) + 1 for part in parts)])
        # The first token of a document is no target.
        marked = [(mark, w) for part in parts for mark, w in [(False, 0.0), *((True, w) for w in part)]][1:]
        scored, weights = zip(*marked)
        rows.append(a_row(weights, scored=scored, starts=starts[:-1], micro_batch=b // micro_batch))

    entries = ledger(a_record(a_window(*rows)))

    told = [part for parts in window for part in parts]
    assert [entry.targets for entry in entries] == [len(part) for part in told]
    assert {entry.due for entry in entries} == {sum(map(len, told))}
    expected = [1 / part[0] if len(set(part)) == 1 else np.nan for part in told]
    np.testing.assert_allclose([entry.divisor for entry in entries], expected, rtol=1e-12)
