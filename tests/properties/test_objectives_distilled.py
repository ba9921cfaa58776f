"""R7: every token of DistillationTrainer gets 1 / N of the divergence's own gradient, and nothing else."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from instrument.loops.distillation import run_distillation
from instrument.objective_distilled import of_distilled, shares
from instrument.tiny import tiny_policy
from tests.properties.objectives import RATE, assert_follows
from tests.properties.strategies import VOCABULARY, Ids, few, lengths, seeds

splits = st.fixed_dictionaries({"micro_batch": st.integers(1, 2), "gradient_accumulation_steps": st.integers(1, 3)})


@pytest.mark.parametrize("beta", [0.0, 0.25, 1.0])
@few
@given(windows=st.integers(1, 2), split=splits, temperature=st.sampled_from([1.0, 2.0]), seed=seeds, data=st.data())
def test_every_token_of_distillation(beta, windows, split, temperature, seed, data):
    # What does not fill a generation is dropped.
    rows = windows * split["micro_batch"] * split["gradient_accumulation_steps"]
    ids = Ids(seed)
    shapes = data.draw(st.lists(st.tuples(st.integers(1, 2), lengths), min_size=rows, max_size=rows))
    answers = [(ids.take(prompt), ids.take(completion)) for prompt, completion in shapes]

    taught, _ = run_distillation(
        tiny_policy(VOCABULARY, seed),
        tiny_policy(VOCABULARY, seed + 1),
        answers,
        beta=beta,
        temperature=temperature,
        learning_rate=RATE,
        **split,
    )
    measured = shares(taught, beta, temperature)
    forms = of_distilled(measured, VOCABULARY)
    assert_follows(measured, forms)
    for batch, form in zip(itertools.chain(*measured), itertools.chain(*forms)):
        told = batch.mask & ~np.isnan(form.allowed)
        assert np.all(batch.remainder[told] <= form.allowed[told])
