"""R7: every token of a student gets 1 / N of the divergence's own gradient, and nothing else."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from instrument.loops.async_distillation import run_async_distillation
from instrument.loops.distillation import run_distillation
from instrument.loops.gkd import run_gkd, run_gold
from instrument.loops.iw_opd import run_iw_opd, run_iw_opd_jsd
from instrument.loops.sdft import run_sdft, run_sdft_sampled
from instrument.loops.server_distillation import run_server_distillation
from instrument.objective_distilled import (
    Served,
    Support,
    of_completions,
    of_counted,
    of_distilled,
    of_micro_batches,
    other_divergence,
    shares,
)
from instrument.objective_iw_opd import of_iw_opd
from instrument.objective_sdpo import of_sampled_tokens
from instrument.tiny import tiny_policy
from tests.properties.objectives import RATE, assert_follows
from tests.properties.strategies import VOCABULARY, few, lessons, seeds

TAUGHT_TWICE = (
    [((3,), (4, 5, 2)), ((6, 7), (8, 2)), ((9,), (10, 11, 2)), ((12,), (13, 2))],
    {"micro_batch": 2, "gradient_accumulation_steps": 1},
)


def assert_taught(taught, beta, temperature, counts=None):
    """Every token gets the divergence's own gradient, divided by its window's tokens or by what is counted instead."""
    measured = shares(taught, beta, temperature)
    forms = of_distilled(measured, VOCABULARY) if counts is None else of_counted(measured, counts, VOCABULARY)
    assert_follows(measured, forms)
    assert other_divergence(taught, beta, temperature, VOCABULARY) == ""


def counts(windows, rows, repeats):
    """Tokens of the answers of each window as the data set has them, times how often the trainer counts them."""
    return [repeats * sum(len(rows[n][1]) for batch in window for n in batch.numbers) for window in windows]


@pytest.mark.parametrize("beta", [0.0, 0.25, 1.0])
@few
@given(drawn=lessons(), temperature=st.sampled_from([1.0, 2.0]), seed=seeds)
def test_every_token_of_distillation(beta, drawn, temperature, seed):
    answers, split = drawn

    taught, _ = run_distillation(
        tiny_policy(VOCABULARY, seed),
        tiny_policy(VOCABULARY, seed + 1),
        answers,
        beta=beta,
        temperature=temperature,
        learning_rate=RATE,
        **split,
    )
    assert_taught(taught, beta, temperature)


@pytest.mark.parametrize("run", [run_gkd, run_gold])
@few
@given(drawn=lessons(end=(2,)), beta=st.sampled_from([0.0, 0.25, 1.0]), generated=st.booleans(), seed=seeds)
def test_every_token_of_gkd_and_gold(run, drawn, beta, generated, seed):
    answers, split = drawn
    # One token more than what is generated, so that the two counts differ.
    written = [(prompt, (*completion, 2)) for prompt, completion in answers]

    taught, _ = run(
        tiny_policy(VOCABULARY, seed),
        tiny_policy(VOCABULARY, seed + 1),
        answers,
        written=written if generated else None,
        beta=beta,
        learning_rate=RATE,
        **({} if run is run_gkd else {"temperature": 1.0}),
        **split,
    )
    repeats = 1 if run is run_gkd else split["gradient_accumulation_steps"]
    assert_taught(taught, beta, 1.0, counts(taught, written if generated else answers, repeats))


@pytest.mark.parametrize("beta", [0.0, 0.25, 1.0])
@pytest.mark.parametrize("run", [run_server_distillation, run_async_distillation])
@few
@given(drawn=lessons(), words=st.integers(1, 3), temperature=st.sampled_from([1.0, 2.0]), seed=seeds)
def test_every_token_that_a_server_scores(run, beta, drawn, words, temperature, seed):
    answers, split = drawn
    models = tiny_policy(VOCABULARY, seed), tiny_policy(VOCABULARY, seed + 1)
    if run is run_server_distillation:
        support = Served(words if beta == 0 else 1)
        asked = {"loss_top_k": support.words, "temperature": temperature}
    else:
        support = Served(words, itself=True)
        asked = {"teacher_top_k": words, "teacher_temperature": temperature}

    taught, _ = run(*models, answers, beta=beta, learning_rate=RATE, **asked, **split)
    measured = shares(taught, beta, temperature, support)
    assert_follows(measured, of_micro_batches(measured, VOCABULARY))
    assert other_divergence(taught, beta, temperature, VOCABULARY, support) == ""


@pytest.mark.parametrize("support", [Support(), Support(3), Support(3, True)], ids=["all", "few", "tail"])
@few
# Tokens on both sides of the cap, which few draws have: test_objectives_regions.py.
@example(drawn=TAUGHT_TWICE, alpha=0.25, skipped=0, kind="base", iterations=2, cap=1.0, seed=2)
@given(
    drawn=lessons(end=(2,)),
    alpha=st.sampled_from([0.0, 0.25, 1.0]),
    skipped=st.integers(0, 1),
    kind=st.sampled_from(["base", "live", "ema"]),
    iterations=st.integers(1, 2),
    cap=st.sampled_from([1.001, 2.0]),
    seed=seeds,
)
def test_every_token_of_sdft(support, drawn, alpha, skipped, kind, iterations, cap, seed):
    answers, split = drawn
    told = [(prompt, (*prompt, 1), completion) for prompt, completion in answers]

    taught, _ = run_sdft(
        tiny_policy(VOCABULARY, seed),
        told,
        distillation_alpha=alpha,
        num_loss_tokens_to_skip=skipped,
        teacher_model_kind=kind,
        teacher_update_rate=0.25,
        num_iterations=iterations,
        distillation_is_clip=cap,
        learning_rate=RATE,
        **support.asked(),
        **split,
    )
    measured = shares(taught, alpha, 1.0, support)
    assert_follows(measured, of_completions(measured, VOCABULARY, skipped, cap))
    assert other_divergence(taught, alpha, 1.0, VOCABULARY, support) == ""


@few
@example(drawn=TAUGHT_TWICE, skipped=0, kind="base", iterations=2, cap=1.0, seed=1)
@given(
    drawn=lessons(end=(2,)),
    skipped=st.integers(0, 1),
    kind=st.sampled_from(["base", "live", "ema"]),
    iterations=st.integers(1, 2),
    cap=st.sampled_from([1.001, 2.0]),
    seed=seeds,
)
def test_every_sampled_token_of_sdft(drawn, skipped, kind, iterations, cap, seed):
    answers, split = drawn
    told = [(prompt, (*prompt, 1), completion) for prompt, completion in answers]

    driven = run_sdft_sampled(
        tiny_policy(VOCABULARY, seed),
        told,
        num_loss_tokens_to_skip=skipped,
        teacher_model_kind=kind,
        teacher_update_rate=0.25,
        num_iterations=iterations,
        distillation_is_clip=cap,
        learning_rate=RATE,
        **split,
    )
    assert_follows(driven.windows, of_sampled_tokens(driven, skipped, cap))


@few
@given(drawn=lessons(end=(2,)), gamma=st.sampled_from([0.0, 0.5, 2.0]), seed=seeds)
def test_every_token_of_iw_opd(drawn, gamma, seed):
    answers, split = drawn
    written = [(prompt, (*completion, 2)) for prompt, completion in answers]

    driven = run_iw_opd(
        tiny_policy(VOCABULARY, seed),
        tiny_policy(VOCABULARY, seed + 1),
        answers,
        written=written,
        iw_opd_gamma=gamma,
        learning_rate=RATE,
        **split,
    )
    divisors = counts(driven.windows, written, split["gradient_accumulation_steps"])
    assert_follows(driven.windows, of_iw_opd(driven, gamma, divisors))


@pytest.mark.parametrize("support", [Support(), Served()], ids=["all", "few"])
@few
@given(
    drawn=lessons(end=(2,)),
    beta=st.sampled_from([0.25, 0.0, 1.0]),
    temperature=st.sampled_from([1.0, 2.0]),
    generated=st.booleans(),
    seed=seeds,
)
def test_every_token_of_iw_opd_with_jsd(support, drawn, beta, temperature, generated, seed):
    answers, split = drawn
    written = [(prompt, (*completion, 2)) for prompt, completion in answers]

    taught, _ = run_iw_opd_jsd(
        tiny_policy(VOCABULARY, seed),
        tiny_policy(VOCABULARY, seed + 1),
        answers,
        written=written if generated else None,
        beta=beta,
        temperature=temperature,
        loss_top_k=support.words or 0,
        learning_rate=RATE,
        **split,
    )
    measured = shares(taught, beta, temperature, support)
    divisors = counts(taught, written if generated else answers, split["gradient_accumulation_steps"])
    assert_follows(measured, of_counted(measured, divisors, VOCABULARY))
    assert other_divergence(taught, beta, temperature, VOCABULARY, support) == ""
