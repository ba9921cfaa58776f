"""Both sides of every limit of a loss are run: a form that never cuts, or always, is contradicted by its property."""

import numpy as np
import pytest

from closed_forms import advantages, distillation, dpo, policy, policy_masks, preference, unpaired
from instrument.objective_distilled import Support
from tests.limits import Told
from tests.properties import (
    test_objectives_async,
    test_objectives_bonus,
    test_objectives_distilled,
    test_objectives_dpo,
    test_objectives_experimental,
    test_objectives_policy,
    test_objectives_rewards,
    test_objectives_sampled,
    test_objectives_unpaired,
)

OFF = 1e9


def without_delta(sign):
    """Advantages of one sign know no bound on the ratio beyond the clip."""

    def change(form):
        def wrong(q, a, low, high, delta):
            return np.where(sign * a > 0, form(q, a, low, high), form(q, a, low, high, delta))

        return wrong

    return change


def with_margin(value):
    """A hinge of which every pair lies on one side."""
    return lambda form: lambda chosen, rejected, beta: form(np.zeros_like(chosen) + value, np.zeros_like(chosen), beta)


dpo_tokens = test_objectives_dpo.test_every_token_weighs_its_closed_form
grpo_tokens = test_objectives_policy.test_every_token_of_grpo
cpo_tokens = test_objectives_experimental.test_every_token_of_cpo
tpo_tokens = test_objectives_experimental.test_every_token_of_tpo
kto_tokens = test_objectives_unpaired.test_every_token_of_kto
gmpo_tokens = test_objectives_experimental.test_every_token_of_gmpo
two_sided = test_objectives_policy.test_every_token_of_grpo_with_a_bound_on_both_sides
drifted = test_objectives_policy.test_every_token_of_grpo_without_what_fell_and_drifted
bonus_tokens = test_objectives_bonus.test_every_token_has_its_share
cut_off = test_objectives_rewards.test_rewards_of_rloo_are_cut_off_before_the_penalty
rloo_tokens = test_objectives_policy.test_every_token_of_rloo
sdft_tokens = test_objectives_distilled.test_every_token_of_sdft
sdft_sampled = test_objectives_distilled.test_every_sampled_token_of_sdft
sdpo_tokens = test_objectives_experimental.test_every_token_of_sdpo
sdpo_words = test_objectives_experimental.test_every_token_of_sdpo_over_words
sampler_tokens = test_objectives_sampled.test_every_token_of_another_sampler
LEVELS = ("token", "sequence")
LOSS_TYPES = test_objectives_policy.LOSS_TYPES
CLIPPED = ("grpo", "bnpo", "dr_grpo", "dapo", "luspo")
SUPPORTS = {"all": Support(), "few": Support(3), "tail": Support(3, True)}
# What is run, with which arguments, the form of it that is changed, and how.
NEVER_CUT = [
    *((tokens, {"loss_type": "hinge"}, (preference, "hinge"), with_margin(0.0)) for tokens in (dpo_tokens, cpo_tokens)),
    (tpo_tokens, {"loss_type": "hinge"}, (preference, "hinge"), with_margin(0.0)),
    *(
        (grpo_tokens, {"loss_type": kind, "level": level}, (policy, "clipped"), Told(limit, off))
        for kind in CLIPPED
        for level in LEVELS
        for limit, off in (("low", 1.0), ("high", OFF))
    ),
    *(
        (rloo_tokens, {"normalize": normalize}, (policy, "clipped"), Told(limit, off))
        for normalize in (False, True)
        for limit, off in (("low", 1.0), ("high", OFF))
    ),
    *(
        (test_objectives_async.test_every_token_of_async_grpo, {}, (policy, "clipped"), Told(limit, off))
        for limit, off in (("low", 1.0), ("high", OFF))
    ),
    (
        kto_tokens,
        {"loss_type": "kto"},
        (unpaired, "kto_baseline"),
        lambda form: lambda apart: abs(float(np.mean(apart))),
    ),
    *((gmpo_tokens, {}, (policy, "geometric"), Told(limit, OFF)) for limit in ("low", "high")),
    *((grpo_tokens, {"loss_type": "cispo", "level": level}, (policy, "cispo"), Told("cap", OFF)) for level in LEVELS),
    *(
        (tokens, {"support": support}, (distillation, "capped"), Told("cap", OFF))
        for tokens in (sdft_tokens, sdpo_words)
        for support in SUPPORTS.values()
    ),
    *(
        (sdpo_tokens, {"weight": weight, "loss_type": "grpo"}, (distillation, "sampled_token"), Told("cap", OFF))
        for weight in (1.0, 0.25)
    ),
    *(
        (sdpo_tokens, {"weight": 0.25, "loss_type": kind}, (policy, "clipped"), Told(limit, off))
        for kind in ("grpo", "bnpo", "dapo")
        for limit, off in (("low", 1.0), ("high", OFF), ("low", "high"))
    ),
    (sdft_sampled, {}, (distillation, "capped"), Told("cap", OFF)),
    *(
        (two_sided, {"loss_type": kind}, (policy, "clipped"), without_delta(sign))
        for kind in CLIPPED
        for sign in (1, -1)
    ),
    *((drifted, {"loss_type": kind}, (policy_masks, "off_policy_rows"), Told("threshold", OFF)) for kind in LOSS_TYPES),
    *((bonus_tokens, {"loss_type": kind}, (policy_masks, "high_entropy"), Told("share", 1.0)) for kind in LOSS_TYPES),
    *(
        (cut_off, {"beta": beta}, (advantages, "shaped_reward"), Told(limit, off))
        for beta in (0.0, 0.1)
        for limit, off in (("low", -OFF), ("high", OFF))
    ),
    *(
        (sampler_tokens, {"mode": mode}, (policy_masks, "sampler_ratio"), Told(limit, off))
        for mode in ("token_truncate", "token_mask", "sequence_truncate", "sequence_mask")
        for limit, off in (("low", 0.0), ("high", OFF))
    ),
]


def at_the_cap(form):
    """Every ratio lies beyond the cap; q is its logarithm."""
    return lambda q, advantage, cap: form(np.asarray(q) * 0 + 50.0, advantage, cap)


ALWAYS_CUT = [
    *(
        (drifted, {"loss_type": kind}, (policy_masks, "off_policy_rows"), Told("threshold", 1e-12))
        for kind in LOSS_TYPES
    ),
    (kto_tokens, {"loss_type": "kto"}, (unpaired, "kto_baseline"), lambda form: lambda apart: 0.0),
    *((tokens, {"loss_type": "hinge"}, (preference, "hinge"), with_margin(OFF)) for tokens in (dpo_tokens, cpo_tokens)),
    (tpo_tokens, {"loss_type": "hinge"}, (preference, "hinge"), with_margin(OFF)),
    *((grpo_tokens, {"loss_type": "cispo", "level": level}, (policy, "cispo"), at_the_cap) for level in LEVELS),
    *(
        (grpo_tokens, {"loss_type": kind, "level": level}, (policy, kind), Told(*names))
        for kind in ("sapo", "vespo")
        for level in LEVELS
        for names in (("rising", "falling"), ("falling", "rising"))
    ),
]
FIRST_FOR_THE_OTHER = [
    *(
        (tokens, given, (policy, form), Told(*names))
        for tokens, given, form in (
            *((grpo_tokens, {"loss_type": kind, "level": level}, "clipped") for kind in CLIPPED for level in LEVELS),
            *((rloo_tokens, {"normalize": normalize}, "clipped") for normalize in (False, True)),
            (test_objectives_async.test_every_token_of_async_grpo, {}, "clipped"),
            (gmpo_tokens, {}, "geometric"),
        )
        for names in (("low", "high"), ("high", "low"))
    ),
]
OTHER_ORDER = [
    (
        dpo_tokens,
        {"loss_type": "aot"},
        (preference, "aot"),
        lambda form: lambda *given: preference.smoothed_sigmoid(*given)[0],
    ),
    (dpo_tokens, {"loss_type": "aot_unpaired"}, (preference, "aot_unpaired"), lambda form: preference.smoothed_sigmoid),
    *(
        (dpo_tokens, {"loss_type": kind}, (dpo, "length_desensitized"), Told("ld_alpha", 1.0))
        for kind in ("sigmoid", "apo_zero", "aot")
    ),
]


def named(case):
    property_, given, (_, form), _ = case
    return f"{property_.__name__}-{form}-" + "-".join(str(value) for value in given.values())


@pytest.mark.parametrize("case", NEVER_CUT + ALWAYS_CUT + FIRST_FOR_THE_OTHER + OTHER_ORDER, ids=named)
def test_a_form_without_the_limit_is_contradicted(case, monkeypatch):
    property_, given, (module, form), change = case
    monkeypatch.setattr(module, form, change(getattr(module, form)))

    with pytest.raises(AssertionError):
        property_(**given)
