"""R7: every token of DPOTrainer weighs what its loss type says, at every optimizer step."""

import copy

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from peft import get_peft_model

from instrument.loops.dpo import run_dpo
from instrument.loops.installed import Installed
from instrument.loops.scored import lora
from instrument.objective_pairs import PairOptions, of_dpo
from instrument.tiny import tiny_policy
from tests.properties.objectives import RATE, assert_follows, policy_and_reference
from tests.properties.strategies import PAIRS, VOCABULARY, betas, few, pairs, seeds

ON_SCORES = ["sigmoid", "hinge", "ipo", "robust", "exo_pair", "discopop", "sigmoid_norm"]
OTHERS = ["nca_pair", "bco_pair", "sppo_hard", "aot", "aot_unpaired", "apo_zero", "apo_down", "sft"]
# TRL refuses the first two, and multiplies its factor in place into what the others' backward needs: that raises.
UNWEIGHTED = ["aot", "aot_unpaired", "sft", "hinge"]
splits = st.fixed_dictionaries({"micro_batch": st.integers(1, 3), "gradient_accumulation_steps": st.integers(1, 3)})
adapters = st.booleans()
# Pairs of a window that lie on both sides of every limit, which few draws do: test_objectives_regions.py.
WHOLE = {"micro_batch": 3, "gradient_accumulation_steps": 2}
tails = st.sampled_from([1.0, 0.25])
divergences = st.sampled_from(["reverse_kl", "forward_kl", "js_divergence", "alpha_divergence"])


def run(drawn, losses, options, peft, seed, split):
    model, reference = policy_and_reference(peft, seed)
    return run_dpo(
        model,
        drawn,
        reference=reference,
        peft=lora(("q_proj", "down_proj")) if peft else None,
        loss_type=list(losses),
        loss_weights=list(losses.values()),
        beta=options.beta,
        label_smoothing=options.epsilon,
        discopop_tau=options.tau,
        ld_alpha=None if options.ld_alpha == 1 else options.ld_alpha,
        f_divergence_type=options.divergence,
        f_alpha_divergence_coef=options.alpha,
        use_weighting=options.weighted,
        learning_rate=RATE,
        **split,
    )


@pytest.mark.parametrize("loss_type", ON_SCORES + OTHERS)
@few
@example(drawn=PAIRS, beta=20.0, ld_alpha=1.0, peft=False, seed=0, split=WHOLE, divergence="reverse_kl")
@example(drawn=PAIRS, beta=0.5, ld_alpha=0.25, peft=False, seed=0, split=WHOLE, divergence="reverse_kl")
@given(drawn=pairs(), beta=betas, ld_alpha=tails, peft=adapters, seed=seeds, split=splits, divergence=divergences)
def test_every_token_weighs_its_closed_form(loss_type, drawn, beta, ld_alpha, peft, seed, split, divergence):
    divergence = divergence if loss_type in ON_SCORES else "reverse_kl"
    options = PairOptions(beta, 0.25, 0.5, ld_alpha, divergence)

    driven = run(drawn, {loss_type: 1.0}, options, peft, seed, split)
    assert_follows(driven.windows, of_dpo(driven, {loss_type: 1.0}, options))


@few
@given(drawn=pairs(), beta=betas, seed=seeds, split=splits, names=st.permutations(ON_SCORES + OTHERS))
def test_a_list_of_losses_weighs_their_sum(drawn, beta, seed, split, names):
    options, losses = PairOptions(beta, 0.25, 0.5), dict(zip(names[:3], (0.75, 0.5, 0.25)))

    driven = run(drawn, losses, options, False, seed, split)
    assert_follows(driven.windows, of_dpo(driven, losses, options))


@few
@given(
    drawn=pairs(),
    beta=betas,
    ld_alpha=tails,
    seed=seeds,
    split=splits,
    names=st.permutations([name for name in ON_SCORES + OTHERS if name not in UNWEIGHTED]),
    divergence=divergences,
)
def test_a_weighted_pair_weighs_as_the_policy_is_certain_of_it(drawn, beta, ld_alpha, seed, split, names, divergence):
    # A list, since the factor is to be taken of each loss once; all of TRL's losses take reverse_kl.
    losses = dict(zip(names[:2], (0.75, 0.5)))
    divergence = divergence if losses.keys() <= set(ON_SCORES) else "reverse_kl"
    options = PairOptions(beta, 0.25, 0.5, ld_alpha, divergence, weighted=True)

    driven = run(drawn, losses, options, False, seed, split)
    assert_follows(driven.windows, of_dpo(driven, losses, options))


@few
@given(drawn=pairs(), beta=betas, seed=seeds, split=splits)
def test_a_model_that_had_an_adapter_is_its_own_reference(drawn, beta, seed, split):
    with Installed():
        model = get_peft_model(tiny_policy(VOCABULARY, seed), lora(("q_proj", "down_proj")))

    driven = run_dpo(model, drawn, reference=copy.deepcopy(model), beta=beta, learning_rate=RATE, **split)
    assert_follows(driven.windows, of_dpo(driven, {"sigmoid": 1.0}, PairOptions(beta)))
