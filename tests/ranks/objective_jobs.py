"""DPOTrainer and GRPOTrainer as one of the ranks; apart from the other jobs, since TRL takes a second to import."""

from instrument.loops.dpo import run_dpo
from instrument.loops.grpo import run_grpo
from tests.properties.objectives import RATE, policy_and_reference


def preferred(pairs, seed, options):
    """What this rank ran of DPO."""
    model, reference = policy_and_reference(False, seed)
    return run_dpo(model, pairs, reference=reference, learning_rate=RATE, **options)


def rewarded(groups, seed, options):
    """What this rank ran of GRPO."""
    model, reference = policy_and_reference(False, seed)
    given = reference if options["beta"] else None
    return run_grpo(model, groups, reference=given, learning_rate=RATE, **options)
