"""The checks of TRL's losses for `weighbridge report`: the real trainers on scripted rows, beside the closed forms.

Every check drives a trainer over several optimizer steps and compares the measured weight of each token with the
closed form, at the log-probabilities that the model had in that step.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

from .broken import release
from .objective_record import NotRun, ObjectiveRun
from .trl_async import RUNS as ASYNC
from .trl_bonus import CONTROL, encouraged
from .trl_deviations import (
    entropy_by_sequence,
    grpo_as_it_comes,
    several_windows,
    short_micro_batch,
    smoothing_of_dft,
    truncated_in_the_mean,
)
from .trl_experimental import RUNS
from .trl_moving import RUNS as MOVING
from .trl_rows import MARGINS
from .trl_runs import BETWEEN, left_out, preferred, relative, rewarding, smoothed, supervised, unpaired
from .trl_trainers import not_checked

CLOSED, DOCUMENTED = "the closed form, token by token", "as documented"
Check = tuple[str, str, Callable[[], ObjectiveRun | NotRun]]


def other_sampler() -> NotRun:
    """The correction for another sampler runs with vLLM alone."""
    return NotRun('use_vllm needs vLLM and a GPU; "Another sampler" hands the trainer its log-probabilities instead')


def or_reason(run: Callable[[], ObjectiveRun | NotRun]) -> ObjectiveRun | NotRun:
    """Run a check, or say why what is installed cannot: TRL or a trainer of it is missing, or a seam has moved."""
    try:
        return run()
    except ImportError as missing:
        return NotRun(f"trl {release('trl')}: {str(missing).partition(' (')[0]}")
    except LookupError as moved:
        # A KeyError or an IndexError is a mistake and no seam.
        if type(moved) is not LookupError:
            raise
        return NotRun(str(moved))


def trl_checks() -> list[Check]:
    """Name, what is expected in words, and what to run."""
    stable = [*supervised_checks(), *pair_checks(), *unpaired_checks(), *group_checks(), *policy_checks()]
    others = ((name, DOCUMENTED if deviates else CLOSED, run) for name, deviates, run in (*MOVING, *RUNS, *ASYNC))
    return [*stable, *others, *((name, CLOSED, partial(NotRun, found.reason)) for name, found in not_checked())]


def supervised_checks() -> list[Check]:
    """SFTTrainer."""
    both = ["completion_mask", "assistant_masks"]
    return [
        ("SFT nll", CLOSED, supervised()),
        ("SFT nll, completion only", CLOSED, supervised(masks=["completion_mask"])),
        ("SFT nll, completion and assistant", CLOSED, supervised(masks=both)),
        ("SFT nll, label smoothing", CLOSED, smoothed),
        ("SFT dft", CLOSED, supervised("dft")),
        ("SFT dft, label smoothing", DOCUMENTED, smoothing_of_dft),
    ]


def pair_checks() -> list[Check]:
    """DPOTrainer: every loss type, and its options."""
    plain = "sigmoid sigmoid_norm hinge ipo nca_pair bco_pair sppo_hard apo_zero apo_down sft".split()
    smooth = "robust exo_pair aot aot_unpaired".split()
    half: dict[str, Any] = {"beta": 0.5}
    # At one half no pair of these rows lies beyond the margin, where a hinge is flat.
    own: dict[str, dict[str, Any]] = {"hinge": {"beta": 2.0}}

    def sigmoid(**more: Any) -> Any:
        return preferred({"sigmoid": 1.0}, {**half, **more})

    return [
        *((f"DPO {name}", CLOSED, preferred({name: 1.0}, own.get(name, half))) for name in plain),
        *((f"DPO {name}", CLOSED, preferred({name: 1.0}, {**half, "epsilon": 0.25})) for name in smooth),
        ("DPO discopop", CLOSED, preferred({"discopop": 1.0}, {**half, "tau": 0.25})),
        ("DPO list of losses", CLOSED, preferred({"sigmoid": 0.8, "bco_pair": 0.2, "sft": 1.0}, half)),
        ("DPO ld_alpha", CLOSED, sigmoid(ld_alpha=0.25)),
        ("DPO forward_kl", CLOSED, sigmoid(divergence="forward_kl")),
        ("DPO js_divergence", CLOSED, sigmoid(divergence="js_divergence")),
        ("DPO alpha_divergence", CLOSED, sigmoid(divergence="alpha_divergence", alpha=0.5)),
        ("DPO weighted (WPO)", CLOSED, sigmoid(weighted=True)),
        ("DPO ipo, weighted (WPO)", CLOSED, preferred({"ipo": 1.0}, {**half, "weighted": True})),
        ("DPO with LoRA", CLOSED, preferred({"sigmoid": 1.0}, half, peft=True)),
        ("DPO sigmoid, short micro-batch", "the mean over the window's pairs", short_micro_batch("sigmoid")),
        ("DPO sft, uneven micro-batches", "the mean over the window's tokens", short_micro_batch("sft")),
    ]


def unpaired_checks() -> list[Check]:
    """KTOTrainer and RewardTrainer."""
    return [
        ("KTO kto", CLOSED, unpaired("kto")),
        ("KTO apo_zero_unpaired", CLOSED, unpaired("apo_zero_unpaired")),
        ("Reward", CLOSED, rewarding(None, 0.0)),
        ("Reward, margin and centre", CLOSED, rewarding(MARGINS, 0.25)),
    ]


def group_checks() -> list[Check]:
    """GRPOTrainer: every loss type, by token and by sequence."""
    # Two is what no ratio of these rows exceeds.
    own: dict[str, dict[str, Any]] = {"dr_grpo": {"max_completion_length": 16}, "cispo": {"epsilon_high": 1.0625}}
    types = "grpo bnpo dr_grpo dapo luspo cispo sapo vespo".split()
    return [
        (
            f"GRPO {name}, {level}",
            CLOSED,
            relative({"loss_type": name, "importance_sampling_level": level, "beta": 0.1, **own.get(name, {})}),
        )
        for level in ("token", "sequence")
        for name in types
    ]


def policy_checks() -> list[Check]:
    """Options of GRPOTrainer, and RLOOTrainer."""
    tight = {"beta": 0.0, **BETWEEN, "loss_type": "grpo"}
    # Far from clipping, so that one of those that fell is dropped for its drift, and others are not.
    drifted = {"off_policy_mask_threshold": 0.3, "epsilon": 0.9, "epsilon_high": 5.0}
    by_sequence = {**tight, "importance_sampling_level": "sequence"}
    return [
        ("GRPO as it comes", "the mean over each completion", grpo_as_it_comes),
        ("GRPO clipped", CLOSED, relative(tight, learning_rate=0.1)),
        ("GRPO clipped, sequence", CLOSED, relative(by_sequence, learning_rate=0.1)),
        ("GRPO two-sided", CLOSED, relative({**tight, "delta": 1.02}, learning_rate=0.1)),
        ("GRPO plain KL", CLOSED, relative({"beta": 0.1, "use_bias_correction_kl": False})),
        ("GRPO scaled by batch", CLOSED, relative({"scale_rewards": "batch"})),
        ("GRPO rewards not scaled", CLOSED, relative({"scale_rewards": "none"})),
        ("GRPO truncated, not counted", CLOSED, relative({}, mask_truncated_completions=True)),
        ("GRPO tool mask", CLOSED, relative({}, tools=True)),
        ("GRPO top_entropy_quantile", CLOSED, relative({"top_entropy_quantile": 0.4}, num_iterations=1)),
        ("GRPO entropy bonus", CLOSED, encouraged()),
        ("GRPO entropy bonus, top_entropy_quantile", CLOSED, encouraged(top_entropy_quantile=0.4)),
        ("GRPO adaptive entropy bonus", CLOSED, encouraged(use_adaptive_entropy=True, **CONTROL)),
        ("GRPO entropy bonus, its mean", DOCUMENTED, encouraged(share=True)),
        ("GRPO off-policy mask", CLOSED, relative(drifted)),
        ("GRPO normalize_then_sum", CLOSED, relative({"multi_objective_aggregation": "normalize_then_sum"})),
        ("GRPO with LoRA", CLOSED, relative({"beta": 0.1}, peft=True)),
        ("GRPO top_entropy_quantile, sequence", DOCUMENTED, entropy_by_sequence),
        ("GRPO truncated, in the mean", DOCUMENTED, truncated_in_the_mean),
        *((f"GRPO {name}, S = 2 K", DOCUMENTED, several_windows(name)) for name in ("dapo", "cispo", "vespo")),
        ("GRPO ratio of another sampler", CLOSED, other_sampler),
        ("RLOO", CLOSED, left_out(False, 0.1)),
        ("RLOO, advantages normalized", CLOSED, left_out(True, 0.1)),
        ("RLOO without KL", CLOSED, left_out(False, 0.0)),
    ]
