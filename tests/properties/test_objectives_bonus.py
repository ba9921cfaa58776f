"""R7: an entropy bonus gives every token its share of the entropy's gradient, and leaves the policy's weights alone."""

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from closed_forms.regularizers import adaptive_coefficients
from instrument.loops.entropy_bonus import run_with_bonus
from instrument.objective_entropy import elsewhere, entropies_of, of_bonus, of_policy, push
from instrument.objective_policy import Options
from instrument.objective_verdict import miss
from instrument.tiny import tiny_policy
from instrument.trl_runs import compared
from tests.properties.objectives import RATE
from tests.properties.strategies import TWICE, VOCABULARY, few, rollouts, seeds
from tests.properties.test_objectives_policy import LOSS_TYPES, groups_of, rewards_of

quantiles = st.sampled_from([1.0, 0.5])


@pytest.mark.parametrize("loss_type", LOSS_TYPES)
@few
# Some tokens are above the quantile and some below: test_objectives_regions.py.
@example(drawn=TWICE, coefficient=0.5, kept=0.5, adaptive=False, seed=0)
@given(drawn=rollouts(), coefficient=st.sampled_from([0.01, 0.5]), kept=quantiles, adaptive=st.booleans(), seed=seeds)
def test_every_token_has_its_share(loss_type, drawn, coefficient, kept, adaptive, seed):
    given_groups, split = drawn
    # Near log V, where some windows are above the target and some below.
    control = {"use_adaptive_entropy": True, "entropy_target": np.log(VOCABULARY) - 0.06, "entropy_coef_delta": 0.25}
    options = {"loss_type": loss_type, "max_completion_length": 16, "top_entropy_quantile": kept}

    driven, bonus = run_with_bonus(
        tiny_policy(VOCABULARY, seed),
        groups_of(given_groups),
        push,
        entropy_coef=coefficient,
        learning_rate=RATE,
        beta=0.0,
        **options,
        **(control if adaptive else {}),
        **split,
    )
    coefficients = [coefficient] * len(driven.windows)
    if adaptive:
        means = entropies_of(driven, kept)
        coefficients = adaptive_coefficients(means, coefficient, control["entropy_target"], 0.25)
    shares = of_bonus(driven, bonus, coefficients, kept)
    closed = Options(**options, steps_per_generation=split["steps_per_generation"])
    size = len(given_groups[0][1])
    forms = of_policy(driven, bonus, rewards_of(given_groups), size, closed)

    assert elsewhere(driven, bonus, shares) == ""
    assert not miss(shares)[1]
    assert not miss(compared(driven.windows, forms, {}).windows)[1]
    assert all(np.isfinite(part.allowed).any() for window in shares for part in window)
