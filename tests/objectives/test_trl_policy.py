"""The installed GRPOTrainer's and RLOOTrainer's own losses, on scripted log-probabilities, against the closed forms."""

import numpy as np
import pytest
import torch
from hypothesis import example, given
from hypothesis import strategies as st

from closed_forms import policy, policy_masks, policy_tokens
from tests.closed_forms.tokens import row_numbers, seeds, widths
from tests.objectives.autograd import assert_gradient
from tests.objectives.policy_forms import COUNTS, LOSS_TYPES, Drawn, bounds, kl_term, policy_term, share
from tests.objectives.trl_trainers import build, completions, leaf, script, weights

levels = st.sampled_from(["token", "sequence"])
every_loss_type = pytest.mark.parametrize("loss_type", LOSS_TYPES)


@pytest.fixture(scope="module")
def grpo(tmp_path_factory):
    longest, _, steps, accumulation = COUNTS
    options = {"max_completion_length": longest, "gradient_accumulation_steps": accumulation, "num_generations": 2}
    folder = tmp_path_factory.mktemp("grpo")
    return build("grpo", folder, steps_per_generation=steps, per_device_train_batch_size=2, beta=0.5, **options)


@pytest.fixture(scope="module")
def rloo(tmp_path_factory):
    return build("rloo", tmp_path_factory.mktemp("rloo"), num_generations=2, per_device_train_batch_size=2, beta=0.0)


def measured(
    trainer, drawn, loss_type, level, delta=None, beta=0.0, corrected=False, sampler=None, entropy=None, kept=1
):
    """[b, t] weights of the tokens in the trainer's loss."""
    trainer.loss_type, trainer.importance_sampling_level, trainer.beta = loss_type, level, beta
    trainer.epsilon_low, trainer.epsilon_high = 0.2, 0.3
    trainer.args.delta, trainer.args.use_bias_correction_kl = delta, corrected
    trainer.top_entropy_quantile = kept
    trainer.use_vllm = trainer.vllm_importance_sampling_correction = sampler is not None
    inputs = completions(drawn)
    if sampler is not None:
        inputs["importance_sampling_ratio"] = torch.tensor(sampler)
    logp = leaf(drawn.logp)
    script(trainer.model, logp, entropy=None if entropy is None else torch.tensor(entropy))
    return weights(trainer, inputs, logp)


@every_loss_type
@given(seed=seeds, rows=row_numbers, width=widths, level=levels, delta=st.sampled_from([None, 1.05, 1.4]))
@example(seed=0, rows=5, width=6, level="token", delta=1.05)
@example(seed=0, rows=5, width=6, level="token", delta=1.4)
@example(seed=0, rows=5, width=6, level="sequence", delta=1.05)
@example(seed=0, rows=5, width=6, level="sequence", delta=None)
def test_policy_alone(grpo, loss_type, seed, rows, width, level, delta):
    drawn = Drawn(seed, rows, width)

    found = measured(grpo, drawn, loss_type, level, delta)
    term = policy_term(drawn, loss_type, level, 0.2, 0.3, delta, 1.0, np.ones((rows, 1)))
    assert_gradient(found, share(loss_type, drawn.mask) * term, *bounds(loss_type))


@every_loss_type
@given(seed=seeds, rows=row_numbers, width=widths, level=levels, corrected=st.booleans())
@example(seed=0, rows=5, width=6, level="token", corrected=True)
@example(seed=0, rows=5, width=6, level="sequence", corrected=False)
def test_policy_and_penalty(grpo, loss_type, seed, rows, width, level, corrected):
    drawn = Drawn(seed, rows, width)

    found = measured(grpo, drawn, loss_type, level, beta=0.5, corrected=corrected)
    term = policy_term(drawn, loss_type, level, 0.2, 0.3, None, 1.0, np.ones((rows, 1)))
    expected = share(loss_type, drawn.mask) * (term + kl_term(drawn, level, 0.5, corrected))
    assert_gradient(found, expected, *bounds(loss_type))


@every_loss_type
@given(seed=seeds, rows=row_numbers, width=widths, level=levels, by_row=st.booleans())
@example(seed=0, rows=5, width=6, level="token", by_row=False)
@example(seed=0, rows=5, width=6, level="sequence", by_row=True)
def test_another_sampler_and_an_entropy_quantile(grpo, loss_type, seed, rows, width, level, by_row):
    drawn = Drawn(seed, rows, width)
    sampler = drawn.row_sampler if by_row else drawn.token_sampler
    entropy = np.random.default_rng(seed).random((rows, width)).astype(np.float32).astype(np.float64)

    found = measured(
        grpo, drawn, loss_type, level, beta=0.5, corrected=True, sampler=sampler, entropy=entropy, kept=0.5
    )
    kept = policy_masks.high_entropy(entropy, drawn.mask, 0.5)
    term = policy_term(drawn, loss_type, level, 0.2, 0.3, None, kept, sampler) + kl_term(drawn, level, 0.5, True)
    assert_gradient(found, share(loss_type, drawn.mask) * term, *bounds(loss_type))


@given(seed=seeds, rows=row_numbers, width=widths)
def test_rloo(rloo, seed, rows, width):
    drawn = Drawn(seed, rows, width)
    rloo.epsilon_low, rloo.epsilon_high = 0.2, 0.3
    logp = leaf(drawn.logp)
    script(rloo.model, logp)
    inputs = completions(drawn) | {"old_logps": torch.tensor((drawn.old * drawn.mask).sum(1))}
    inputs["completion_mask"] = inputs.pop("tool_mask")

    found = weights(rloo, inputs, logp)
    q_b = ((drawn.logp - drawn.old) * drawn.mask).sum(1, keepdims=True)
    factor = policy.clipped(q_b, drawn.advantage[:, None], 0.2, 0.3)
    expected = policy_tokens.by_batch(drawn.mask, 1) * policy_tokens.at_tokens(drawn.mask, factor)
    assert_gradient(found, expected, argument=3, addend=2 * np.exp(3))


@given(seed=seeds, rows=row_numbers, width=widths, kept=st.sampled_from([0.5, 1]))
def test_the_entropy_bonus_is_a_mean_over_the_micro_batch(grpo, seed, rows, width, kept):
    drawn = Drawn(seed, rows, width)
    entropy = np.random.default_rng(seed).random((rows, width)).astype(np.float32).astype(np.float64)
    grpo.loss_type, grpo.importance_sampling_level, grpo.beta, grpo.use_vllm = "grpo", "token", 0.0, False
    grpo.entropy_coef, grpo._entropy_bonus_enabled, grpo.top_entropy_quantile = 0.25, True, kept
    table = leaf(entropy)
    script(grpo.model, torch.tensor(drawn.logp), entropy=table)

    found = weights(grpo, completions(drawn), table)
    grpo._entropy_bonus_enabled = False
    acted_on = policy_masks.high_entropy(entropy, drawn.mask, kept)
    expected = acted_on * 0.25 * policy_tokens.by_micro_batch(acted_on, COUNTS[3])
    assert_gradient(found, expected, argument=0, addend=1)
