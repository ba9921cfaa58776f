"""Trainers of TRL that learn from a teacher, on four answers, beside their forms: (prompt, said) of each."""

from instrument.loops.async_distillation import run_async_distillation
from instrument.loops.distillation import run_distillation
from instrument.loops.gkd import run_gkd, run_gold
from instrument.loops.iw_opd import run_iw_opd
from instrument.loops.sdft import run_sdft
from instrument.loops.server_distillation import run_server_distillation
from instrument.objective_distilled import (
    Served,
    Support,
    of_completions,
    of_counted,
    of_distilled,
    of_micro_batches,
    shares,
)
from instrument.objective_iw_opd import of_iw_opd
from instrument.tiny import tiny_policy
from tests.properties.strategies import VOCABULARY


def models(seed):
    return tiny_policy(VOCABULARY, seed), tiny_policy(VOCABULARY, seed + 1)


def distilled(answers, seed, **options):
    taught, _ = run_distillation(*models(seed), answers, beta=0.25, temperature=1.0, **options)
    measured = shares(taught, 0.25, 1.0)
    return measured, of_distilled(measured, VOCABULARY)


def generalized(answers, seed, **options):
    taught, _ = run_gkd(*models(seed), answers, beta=0.25, **options)
    measured = shares(taught, 0.25, 1.0)
    return measured, of_distilled(measured, VOCABULARY)


def counted(windows, answers):
    """What GOLD and IW-OPD divide by: the tokens of the window's answers, once for each of its micro-batches."""
    tokens = [sum(len(answers[n][1]) for batch in window for n in batch.numbers) for window in windows]
    return [n * len(window) for n, window in zip(tokens, windows)]


def gold(answers, seed, **options):
    taught, _ = run_gold(*models(seed), answers, beta=0.25, temperature=1.0, **options)
    measured = shares(taught, 0.25, 1.0)
    return measured, of_counted(measured, counted(measured, answers), VOCABULARY)


def served(answers, seed, **options):
    taught, _ = run_server_distillation(*models(seed), answers, beta=0.25, loss_top_k=1, temperature=1.0, **options)
    measured = shares(taught, 0.25, 1.0, Served())
    return measured, of_micro_batches(measured, VOCABULARY)


def awaited(answers, seed, **options):
    taught, _ = run_async_distillation(
        *models(seed), answers, beta=0.25, teacher_top_k=1, teacher_temperature=1.0, **options
    )
    measured = shares(taught, 0.25, 1.0, Served(itself=True))
    return measured, of_micro_batches(measured, VOCABULARY)


def informed(answers, seed, **options):
    told = [(prompt, (*prompt, 1), said) for prompt, said in answers]
    given = {"distillation_alpha": 0.25, "teacher_model_kind": "base", **Support().asked()}
    taught, _ = run_sdft(tiny_policy(VOCABULARY, seed), told, **given, **options)
    measured = shares(taught, 0.25, 1.0)
    return measured, of_completions(measured, VOCABULARY, 0)


def weighted_early(answers, seed, **options):
    driven = run_iw_opd(*models(seed), answers, iw_opd_gamma=0.5, **options)
    return driven.windows, of_iw_opd(driven, 0.5, counted(driven.windows, answers))


LESSONS = {
    "Distillation": distilled,
    "GKD": generalized,
    "GOLD": gold,
    "ServerDistillation": served,
    "AsyncDistillation": awaited,
    "SDFT": informed,
    "IW-OPD": weighted_early,
}
