"""The verdict names the formula that a loop follows, or says that none does."""

import itertools

import pytest
import torch

from instrument import make_batch, watch, xray
from tests.instrument import models

LENGTHS = (4, 9, 6, 12, 3)


MICRO_BATCHES = ((0, 1), (2,), (3, 4))


def mean(losses, window):
    return losses.sum() / window


def micro_batch_mean(losses, window):
    return losses.mean() / 3


def sum_of_micro_batch_means(losses, window):
    return losses.mean()


def token_sum(losses, window):
    return losses.sum()


def divided_once_more(losses, window):
    return losses.sum() / window / 3


def times_micro_batches(losses, window):
    return losses.sum() / window * 3


def divided_by_four(losses, window):
    return losses.mean() / 4


REDUCTIONS = {
    "token mean": mean,
    "mean of micro-batch means, M = 3": micro_batch_mean,
    "sum of micro-batch means, M = 3 times too large": sum_of_micro_batch_means,
    "sum over tokens, never divided": token_sum,
    "token mean divided once more by M = 3": divided_once_more,
    "token mean times M = 3": times_micro_batches,
    "mean of micro-batch means divided by 4 though only M = 3 ran": divided_by_four,
}


def losses_of(model, rows, labels=None):
    """[targets] cross-entropy of each target of a batch, row by row."""
    batch = make_batch(rows, labels)
    labels_bt = batch["labels"][:, 1:]
    logits_btv = model(**batch).logits[:, :-1].float()
    kept = labels_bt != -100
    return torch.nn.functional.cross_entropy(logits_btv[kept], labels_bt[kept], reduction="none")


def accumulate(model, rows, reduce, after=lambda m, model: None):
    """A loop that somebody wrote: a window of three micro-batches."""
    targets = sum(len(row) - 1 for row in rows)
    for m, numbers in enumerate(MICRO_BATCHES):
        reduce(losses_of(model, [rows[b] for b in numbers]), targets).backward()
        after(m, model)


def measured(reduce, **more):
    """Verdict of one window of the probe."""
    return xray(lambda model, rows: accumulate(model, rows, reduce, **more), LENGTHS).verdicts[0]


def live_verdict(reduce, dtype=torch.float32, scale=1.0):
    """Verdict of one window of a model of one's own."""
    model = models.llama(vocab_size=16).to(dtype)
    drawn = torch.Generator().manual_seed(0)
    rows = [torch.randint(3, 16, (n,), generator=drawn).tolist() for n in LENGTHS]
    with watch(model) as report:
        accumulate(model, rows, lambda losses, window: scale * reduce(losses, window))
    return report.verdicts[0]


@pytest.mark.parametrize("name", REDUCTIONS)
def test_the_probe_names_what_a_loop_does(name):
    found = measured(REDUCTIONS[name])

    assert name == found.name
    assert () == found.same
    assert found.ok == (name == "token mean")


@pytest.mark.parametrize("name", REDUCTIONS)
def test_the_live_instrument_names_what_a_loop_does(name):
    assert name == live_verdict(REDUCTIONS[name]).name


def test_a_mean_over_rows_is_named():
    def reduce(losses, window):
        per_row = {11: (3, 8), 5: (5,), 13: (11, 2)}[len(losses)]
        return sum(part.mean() for part in losses.split(per_row)) / len(LENGTHS)

    assert "per-sequence mean" == measured(reduce).name


def test_means_weighted_by_rows_are_named():
    def reduce(losses, window):
        rows = {11: 2, 5: 1, 13: 2}[len(losses)]
        return losses.mean() * rows / len(LENGTHS)

    assert "micro-batch means weighted by their rows, M = 3" == measured(reduce).name


def test_overwritten_micro_batches_are_named():
    found = measured(mean, after=lambda m, model: m < 2 and model.zero_grad())

    assert "sum over the last micro-batch only" == found.name
    assert any("backward delivered other weights" in fault and "for 16 of 29" in fault for fault in found.faults)


@pytest.mark.parametrize("kept", [1, 2])
def test_micro_batches_that_get_lost_are_named(kept):
    number = itertools.count()

    found = measured(lambda losses, window: mean(losses, window) * (next(number) < kept))

    assert f"sum over the first {kept} of M = 3 micro-batches only" == found.name


def test_a_form_in_which_nothing_fits_shows_the_nearest():
    # One target of each micro-batch a tenth heavier than the others.
    found = measured(lambda losses, window: mean(losses, window) + losses[0] / window / 10)

    assert (None, "") == (found.name, found.equation)
    assert found.nearest.candidate.name.startswith("token mean")
    assert found.nearest.deviation == pytest.approx(0.1, rel=1e-4)
    assert "off by up to 0.1 of a token-mean weight" in found.faults[0]


@pytest.mark.parametrize("factor", [-1.0, 1.1, 1024.0])
def test_one_factor_on_every_weight_is_named(factor):
    found = measured(lambda losses, window: factor * mean(losses, window))

    assert (f"token mean times {factor:g}", f"{factor:g}/N") == (found.name, found.equation)
    assert not found.ok
    # Not "1.1 to 1.1".
    assert found.faults[0].endswith(f"targets weigh {factor:.4g} times 1/N")


def test_every_form_that_fits_is_told():
    found = xray(lambda model, rows: model(**make_batch(rows)).loss.backward(), [4, 4, 4]).verdicts[0]

    assert "token mean" == found.name
    assert ("per-sequence mean",) == found.same


def test_equal_micro_batches_fit_every_mean():
    def step(model, rows):
        for row in rows:
            (model(**make_batch([row])).loss / 2).backward()

    found = xray(step, [5, 5]).verdicts[0]

    assert "token mean" == found.name
    assert {
        "mean of micro-batch means, M = 2",
        "micro-batch means weighted by their rows, M = 2",
        "per-sequence mean",
    } == set(found.same)


@pytest.mark.parametrize("factor", [1 + 1e-5, 1 - 1e-5])
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
def test_a_scale_that_is_off_by_a_hundred_thousandth_is_seen_live(dtype, factor):
    assert "token mean" == live_verdict(mean, dtype).name
    assert f"token mean times {factor:.6g}" == live_verdict(mean, dtype, scale=factor).name


@pytest.mark.parametrize("factor", [1 + 1e-5, 1 - 1e-5])
def test_a_scale_that_is_off_by_a_hundred_thousandth_is_seen_by_the_probe(factor):
    def scaled(losses, window):
        return factor * mean(losses, window)

    assert f"token mean times {factor:.6g}" == measured(scaled).name


def test_label_smoothing_is_a_remark_and_no_fault():
    def step(model, rows):
        from instrument.loops.trainer import run_trainer

        run_trainer(model, rows, micro_batch=5, label_smoothing_factor=0.1)

    found = xray(step, LENGTHS).verdicts[0]

    assert found.ok
    assert "token mean" == found.name
    assert ("label smoothing 0.1",) == found.remarks


def test_another_term_in_the_loss_is_a_fault():
    def step(model, rows):
        batch = make_batch(rows)
        out = model(**batch)
        (out.loss + 1e-3 * out.logits.logsumexp(-1).square()[batch["attention_mask"] > 0].mean()).backward()

    found = xray(step, LENGTHS).verdicts[0]

    assert any("is not a multiple of their own: another term or target is in" in fault for fault in found.faults)


def test_a_target_that_carries_no_label_is_a_fault():
    def step(model, rows):
        losses_of(model, rows, [[*row[:-1], -100] for row in rows]).mean().backward()

    found = xray(step, LENGTHS).verdicts[0]

    assert "token mean" == found.name
    assert "5 of 29 targets that should be scored carried no label" == found.faults[0]
    assert not found.ok


def test_a_label_that_should_not_be_there_is_a_fault():
    labelled = [[False] + [True] * (n - 2) for n in LENGTHS]

    report = xray(lambda model, rows: losses_of(model, rows).mean().backward(), LENGTHS, labelled=labelled)

    assert "5 targets carried a label that should not be scored" in report.verdicts[0].faults
    assert "5 tokens that should not be scored have a gradient" in report.verdicts[0].faults


def test_labels_shifted_by_one_are_faults_of_both_kinds():
    labelled = [[True] + [False] * (n - 2) for n in LENGTHS]

    def step(model, rows):
        losses_of(model, rows, [[-100, -100, *row[2:3], *([-100] * (len(row) - 3))] for row in rows]).mean().backward()

    faults = xray(step, LENGTHS, labelled=labelled).verdicts[0].faults

    assert "5 of 5 targets that should be scored carried no label" in faults
    assert "5 targets carried a label that should not be scored" in faults
