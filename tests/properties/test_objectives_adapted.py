"""R7 under an adapter: every trainer that takes one gives each token the weight that it has without.

SFT, DPO, KTO, GRPO and RLOO draw an adapter in their own properties; the trainers of GMPO and A*-PO take none. What a
reference or a teacher is under an adapter: the model without it, or one whose adapter began at 0.
"""

import copy

import pytest

from instrument.loops.scored import lora
from instrument.objective_distilled import Served, Support
from tests.properties import (
    test_objectives_async,
    test_objectives_distilled,
    test_objectives_experimental,
    test_objectives_online,
    test_objectives_sampled,
    test_objectives_unpaired,
)

# Module, property, loop and what the property is parametrized by.
CASES = [
    *(
        (test_objectives_experimental, "test_every_token_of_cpo", "run_cpo", {"loss_type": kind})
        for kind in ("sigmoid", "simpo")
    ),
    (test_objectives_experimental, "test_every_token_of_orpo", "run_orpo", {}),
    (test_objectives_experimental, "test_every_token_of_tpo", "run_tpo", {"loss_type": "sigmoid"}),
    *(
        (test_objectives_experimental, "test_every_token_of_sdpo", "run_sdpo", {"weight": weight, "loss_type": "grpo"})
        for weight in (1.0, 0.25)
    ),
    (test_objectives_experimental, "test_every_token_of_sdpo_over_words", "run_sdpo_words", {"support": Support()}),
    (test_objectives_sampled, "test_every_token_of_another_sampler", "run_sampled", {"mode": "token_truncate"}),
    (test_objectives_unpaired, "test_every_reward_enters_at_its_last_token", "run_reward", {}),
    (test_objectives_online, "test_every_token_of_online_dpo", "run_online_dpo", {"loss_type": "sigmoid"}),
    (test_objectives_distilled, "test_every_token_of_distillation", "run_distillation", {"beta": 0.25}),
    *(
        (test_objectives_distilled, "test_every_token_of_gkd_and_gold", loop, {"run": None})
        for loop in ("run_gkd", "run_gold")
    ),
    *(
        (test_objectives_distilled, "test_every_token_that_a_server_scores", loop, {"run": None, "beta": 0.25})
        for loop in ("run_server_distillation", "run_async_distillation")
    ),
    (test_objectives_distilled, "test_every_token_of_sdft", "run_sdft", {"support": Support()}),
    (test_objectives_distilled, "test_every_sampled_token_of_sdft", "run_sdft_sampled", {}),
    (test_objectives_distilled, "test_every_token_of_iw_opd", "run_iw_opd", {}),
    (test_objectives_distilled, "test_every_token_of_iw_opd_with_jsd", "run_iw_opd_jsd", {"support": Served()}),
    (test_objectives_async, "test_every_token_of_async_grpo", "run_async_grpo", {}),
]


def named(case):
    _, _, loop, given = case
    return "-".join([loop, *(str(value) for value in given.values() if isinstance(value, (str, float)))])


@pytest.mark.parametrize("case", CASES, ids=named)
def test_an_adapter_leaves_every_weight_as_its_form_says(case, monkeypatch):
    module, property_, loop, given = case
    task = "SEQ_CLS" if loop == "run_reward" else "CAUSAL_LM"
    original, calls = getattr(module, loop), []

    def run(*args, **options):
        calls.append(1)
        if "reference" in options:
            options["reference"] = copy.deepcopy(args[0])
        # PEFT notes in a configuration where its model comes from, and warns when it is used for another.
        # Rollouts are of the model that is handed over; another one would have all of them clipped.
        adapter = lora(("q_proj", "down_proj"), task, zero=loop == "run_async_grpo")
        return original(*args, peft=adapter, **options)

    monkeypatch.setattr(module, loop, run)
    getattr(module, property_)(**{name: run if name == "run" else value for name, value in given.items()})
    assert calls
