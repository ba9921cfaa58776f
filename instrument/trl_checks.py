"""The checks of TRL's losses for `weighbridge report`: the real trainers on scripted rows, beside the closed forms.

Every check drives a trainer over several optimizer steps and compares the measured weight of each token with the
closed form, at the log-probabilities that the model had in that step. TRL is imported when a check runs, not before.
"""

import copy
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .objective_bounds import Expected
from .objective_pairs import PairOptions, of_dpo, of_kto, of_sft
from .objective_policy import Options, of_grpo, of_rloo
from .objective_record import Compared, Driven, NotRun, ObjectiveRun
from .objective_rewards import of_rewards
from .tiny import near, tiny_policy, tiny_reward

VOCABULARY = 61
ROWS = ((3, 4, 5, 6, 7), (8, 9, 10), (11, 12, 13, 14), (15, 16), (17, 18, 19))
MARKS = ((0, 0, 1, 1, 1), (0, 1, 1), (0, 0, 1, 0), (0, 1), (0, 0, 1))
TURNS = ((0, 1, 1, 0, 1), (1, 1, 0), (1, 1, 1, 0), (1, 1), (1, 1, 1))
PAIRS = (
    ((3, 4), (5, 6, 7), (8, 9)),
    ((10,), (11,), (12, 13, 14)),
    ((15, 16), (17, 18), (19, 20, 21)),
    ((22,), (23, 24), (25,)),
    ((26, 27), (28,), (29, 30)),
    ((31,), (32, 33), (34, 35, 36)),
)
ANSWERS = (
    ((3, 4), (5, 6), True),
    ((7,), (8, 9, 10), False),
    ((11, 12, 13), (14,), True),
    ((15,), (16, 17), True),
    ((18,), (19,), False),
    ((20, 21), (22,), False),
    ((23,), (24, 25), True),
    ((26, 27), (28,), False),
)
# 2 is the end of sequence: what does not end with it was truncated.
GROUPS = (
    ((3, 4), ((5, 6, 2), (7, 8, 9)), (1.0, 0.25)),
    ((10,), ((11, 12, 13, 2), (14, 2)), (0.5, 2.0)),
    ((15, 16, 17), ((18, 2), (19, 20, 21, 22)), (0.0, 1.0)),
    ((23,), ((24, 25, 26, 2), (27, 2)), (1.5, 1.0)),
)
MARGINS = (0.5, -1.0, 2.0, 0.0, 1.0, 0.25)

Run = Callable[[], ObjectiveRun]


def compared(windows: Sequence[Sequence[Any]], forms: list[list[Expected]], changes: dict[str, str]) -> ObjectiveRun:
    """Measured beside expected."""
    return ObjectiveRun(
        [
            [Compared(batch.numbers, batch.weight, form.weight, form.allowed) for batch, form in zip(window, expected)]
            for window, expected in zip(windows, forms)
        ],
        dict(changes),
    )


def beside(
    driven: Driven, forms: list[list[Expected]], documented: list[list[Expected]] | None = None, known: str = ""
) -> ObjectiveRun:
    """A driven run beside its form, and beside the documented one where they differ."""
    run = compared(driven.windows, forms, driven.record.changes)
    if documented is not None:
        run.documented, run.known = compared(driven.windows, documented, {}).windows, known
    return run


def rescaled(forms: list[list[Expected]], factors: Sequence[Sequence[float]]) -> list[list[Expected]]:
    """Forms of which each micro-batch is multiplied by a number."""
    return [
        [Expected(f.weight * c, f.allowed * c) for f, c in zip(window, numbers)]
        for window, numbers in zip(forms, factors)
    ]


def supervised(loss_type: str = "nll", masks: Sequence[str] = (), **options: Any) -> Run:
    """SFTTrainer; masks by the names of their columns."""

    def run() -> ObjectiveRun:
        from .loops.sft import run_supervised

        columns: dict[str, Sequence[Sequence[int]]] = {"completion_mask": MARKS, "assistant_masks": TURNS}
        given = {name: columns[name] for name in masks}
        settings = {"micro_batch": 2, "gradient_accumulation_steps": 2, "loss_type": loss_type, **options}
        driven = run_supervised(tiny_policy(VOCABULARY), ROWS, given, **settings)
        return beside(driven, of_sft(driven, loss_type))

    return run


def preferred(losses: dict[str, float], form: dict[str, Any], peft: bool = False, **options: Any) -> Run:
    """DPOTrainer; form: options of the closed form, which the trainer gets by its own names."""

    def run() -> ObjectiveRun:
        from .loops.dpo import run_dpo

        model = tiny_policy(VOCABULARY)
        reference = copy.deepcopy(model) if peft else near(model)
        names = {
            "epsilon": "label_smoothing",
            "tau": "discopop_tau",
            "divergence": "f_divergence_type",
            "alpha": "f_alpha_divergence_coef",
        }
        given = {names.get(name, name): value for name, value in form.items()}
        driven = run_dpo(
            model,
            PAIRS,
            reference=reference,
            peft=adapter() if peft else None,
            loss_type=list(losses),
            loss_weights=list(losses.values()),
            **{"micro_batch": 2, "gradient_accumulation_steps": 2, "learning_rate": 0.1, **given, **options},
        )
        return beside(driven, of_dpo(driven, losses, PairOptions(**form)))

    return run


def unpaired(loss_type: str) -> Run:
    """KTOTrainer."""

    def run() -> ObjectiveRun:
        from .loops.kto import run_kto

        model = tiny_policy(VOCABULARY)
        driven, mixed = run_kto(
            model,
            ANSWERS,
            reference=near(model),
            micro_batch=2,
            gradient_accumulation_steps=2,
            learning_rate=0.3,
            loss_type=loss_type,
            beta=0.5,
            desirable_weight=2.0,
            undesirable_weight=1.5,
        )
        marks = [good for _, _, good in ANSWERS]
        return beside(driven, of_kto(driven, mixed, marks, loss_type=loss_type, beta=0.5, gain=2.0, loss=1.5))

    return run


def rewarding(margins: Sequence[float] | None, centre: float) -> Run:
    """RewardTrainer."""

    def run() -> ObjectiveRun:
        from .loops.reward import run_reward

        pairs = [((*prompt, *chosen), (*prompt, *rejected)) for prompt, chosen, rejected in PAIRS]
        windows, changes = run_reward(
            tiny_reward(VOCABULARY),
            pairs,
            margins=margins,
            micro_batch=2,
            gradient_accumulation_steps=2,
            center_rewards_coefficient=centre or None,
        )
        return compared(windows, of_rewards(windows, margins, centre), changes)

    return run


def relative(form: dict[str, Any], peft: bool = False, tools: bool = False, **options: Any) -> Run:
    """GRPOTrainer; form: options of the closed form, by TRL's names; tools: one wrote a token of each completion."""

    def run() -> ObjectiveRun:
        from .loops.grpo import run_grpo

        model = tiny_policy(VOCABULARY)
        reference = None
        if form.get("beta"):
            reference = copy.deepcopy(model) if peft else near(model)
        settings = {
            "micro_batch": 2,
            "gradient_accumulation_steps": 2,
            "steps_per_generation": 2,
            "num_iterations": 2,
            "learning_rate": 0.03,
            **{name: value for name, value in form.items() if name != "delta" or np.isfinite(value)},
            **options,
        }
        driven = run_grpo(model, groups(tools), reference=reference, peft=adapter() if peft else None, **settings)
        closed = Options(**{"steps_per_generation": settings["steps_per_generation"], **form})
        return beside(driven, of_grpo(driven, rewards(), 2, closed))

    return run


def left_out(normalize: bool, beta: float, **options: Any) -> Run:
    """RLOOTrainer."""

    def run() -> ObjectiveRun:
        from .loops.rloo import run_rloo

        model = tiny_policy(VOCABULARY)
        driven = run_rloo(
            model,
            groups(),
            reference=near(model) if beta else None,
            micro_batch=2,
            gradient_accumulation_steps=2,
            num_iterations=2,
            learning_rate=0.02,
            beta=beta,
            normalize_advantages=normalize,
            **options,
        )
        return beside(driven, of_rloo(driven, rewards(), 2, beta=beta, normalize=normalize))

    return run


def groups(tools: bool = False) -> list[Any]:
    """GROUPS as the loops take them; with tools, one of them wrote the second token of each completion."""
    from .loops.grpo import Group

    return [
        Group(
            prompt,
            completions,
            [[r] for r in given],
            [[t != 1 for t in range(len(ids))] for ids in completions] if tools else None,
        )
        for prompt, completions, given in GROUPS
    ]


def rewards() -> list[list[float]]:
    """[number][1] rewards of GROUPS."""
    return [[r] for _, _, given in GROUPS for r in given]


def adapter() -> Any:
    """LoRA on an attention and an MLP projection, not zero at first, so that the policy is not the reference."""
    from .loops.scored import lora

    return lora(("q_proj", "down_proj"))


def smoothing_of_dft() -> ObjectiveRun:
    """label_smoothing_factor with loss_type="dft": nothing of it."""
    from .loops.sft import run_supervised

    driven = run_supervised(
        tiny_policy(VOCABULARY),
        ROWS,
        micro_batch=2,
        gradient_accumulation_steps=2,
        loss_type="dft",
        label_smoothing_factor=0.1,
    )
    form = of_sft(driven, "dft")
    known = "label_smoothing_factor=0.1 is not looked at: the target keeps all of its weight"
    return beside(driven, form, rescaled(form, [[0.9] * len(window) for window in form]), known)


def short_micro_batch(loss_type: str) -> Run:
    """DPO over three pairs in micro-batches of two: a mean of the means of the micro-batches."""

    def run() -> ObjectiveRun:
        from .loops.dpo import run_dpo

        model = tiny_policy(VOCABULARY)
        settings: dict[str, Any] = {"micro_batch": 2, "gradient_accumulation_steps": 2, "beta": 0.5}
        driven = run_dpo(model, PAIRS[:3], reference=near(model), loss_type=[loss_type], **settings)
        form = of_dpo(driven, {loss_type: 1.0}, PairOptions(beta=0.5))
        shares = [[len(batch.numbers) / 2 for batch in window] for window in driven.windows]
        if loss_type == "sft":
            shares = [[batch.mask[: len(batch.numbers) // 2].sum() for batch in window] for window in driven.windows]
        even = [[len(window) * share / sum(window) for share in window] for window in shares]
        known = "each micro-batch is averaged by itself, so what stands in the short one weighs more"
        return beside(driven, form, rescaled(form, even), known)

    return run


def several_windows(loss_type: str) -> Run:
    """Two windows of unequal length from one generation, S = 2 K: both are divided by their mean."""

    def run() -> ObjectiveRun:
        from .loops.grpo import run_grpo

        settings: dict[str, Any] = {"gradient_accumulation_steps": 1, "steps_per_generation": 2}
        more: dict[str, Any] = {"learning_rate": 0.03, "loss_type": loss_type, "epsilon_high": 2.0}
        driven = run_grpo(tiny_policy(VOCABULARY), groups(), micro_batch=2, **settings, **more)
        form = of_grpo(driven, rewards(), 2, Options(loss_type, steps_per_generation=2, epsilon_high=2.0))
        sizes = [sum(int(batch.mask.sum()) for batch in window) for window in driven.windows]
        shared = [
            sum(len(GROUPS[n // 2][1][n % 2]) for n in driven.generations[window[0].generation]) / 2
            for window in driven.windows
        ]
        factors = [[given / own] * len(window) for given, own, window in zip(shared, sizes, driven.windows)]
        known = "divided by the mean length of the windows of a generation, not by the window's own tokens"
        return beside(driven, form, rescaled(form, factors), known)

    return run


def entropy_by_sequence() -> ObjectiveRun:
    """top_entropy_quantile with the ratio of the completion: tokens of low entropy keep a share of the loss."""
    from .loops.grpo import run_grpo

    level: dict[str, Any] = {
        "loss_type": "grpo",
        "importance_sampling_level": "sequence",
        "top_entropy_quantile": 0.4,
    }
    driven = run_grpo(tiny_policy(VOCABULARY), groups(), micro_batch=2, gradient_accumulation_steps=2, **level)
    form = of_grpo(driven, rewards(), 2, Options(**level, steps_per_generation=2))
    token = Options(**{**level, "importance_sampling_level": "token"}, steps_per_generation=2)
    known = (
        "tokens outside of the quantile have a gradient all the same: those inside spread theirs over the completion"
    )
    return beside(driven, form, of_grpo(driven, rewards(), 2, token), known)


def truncated_in_the_mean() -> ObjectiveRun:
    """mask_truncated_completions: what is left out of the loss is still counted in its mean."""
    from .loops.grpo import run_grpo

    options = {"loss_type": "grpo", "mask_truncated_completions": True}
    driven = run_grpo(tiny_policy(VOCABULARY), groups(), micro_batch=2, gradient_accumulation_steps=2, **options)
    form = of_grpo(driven, rewards(), 2, Options("grpo", steps_per_generation=2))
    kept = [[len(batch.numbers) / max((batch.numbers >= 0).sum(), 1) for batch in window] for window in driven.windows]
    known = "truncated completions are counted in the mean over completions, so the others weigh less"
    return beside(driven, form, rescaled(form, kept), known)


def other_sampler() -> NotRun:
    """The correction for another sampler runs with vLLM alone."""
    return NotRun("use_vllm needs vLLM and a GPU; tests/objectives asks the trainer's loss for it instead")


def or_reason(run: Callable[[], ObjectiveRun | NotRun]) -> ObjectiveRun | NotRun:
    """Run a check, or say why what is installed cannot: TRL or a trainer of it is missing, or a seam has moved."""
    try:
        return run()
    except ImportError as missing:
        return NotRun(str(missing))
    except LookupError as moved:
        # A KeyError or an IndexError is a mistake and no seam.
        if type(moved) is not LookupError:
            raise
        return NotRun(str(moved))


def trl_checks() -> list[tuple[str, str, Callable[[], ObjectiveRun | NotRun]]]:
    """Name, what is expected in words, and what to run."""
    closed, documented = "the closed form, token by token", "as documented"
    plain = [
        "sigmoid",
        "sigmoid_norm",
        "hinge",
        "ipo",
        "nca_pair",
        "bco_pair",
        "sppo_hard",
        "apo_zero",
        "apo_down",
        "sft",
    ]
    smooth = ["robust", "exo_pair", "aot", "aot_unpaired"]
    types = ["grpo", "bnpo", "dr_grpo", "dapo", "luspo", "cispo", "sapo", "vespo"]
    found: list[tuple[str, str, Callable[[], ObjectiveRun | NotRun]]] = [
        ("SFT nll", closed, supervised()),
        ("SFT nll, completion only", closed, supervised(masks=["completion_mask"])),
        ("SFT nll, completion and assistant", closed, supervised(masks=["completion_mask", "assistant_masks"])),
        ("SFT dft", closed, supervised("dft")),
        ("SFT dft, label smoothing", documented, smoothing_of_dft),
        *((f"DPO {name}", closed, preferred({name: 1.0}, {"beta": 0.5})) for name in plain),
        *((f"DPO {name}", closed, preferred({name: 1.0}, {"beta": 0.5, "epsilon": 0.25})) for name in smooth),
        ("DPO discopop", closed, preferred({"discopop": 1.0}, {"beta": 0.5, "tau": 0.25})),
        ("DPO list of losses", closed, preferred({"sigmoid": 0.8, "bco_pair": 0.2, "sft": 1.0}, {"beta": 0.5})),
        ("DPO ld_alpha", closed, preferred({"sigmoid": 1.0}, {"beta": 0.5, "ld_alpha": 0.25})),
        ("DPO forward_kl", closed, preferred({"sigmoid": 1.0}, {"beta": 0.5, "divergence": "forward_kl"})),
        ("DPO js_divergence", closed, preferred({"sigmoid": 1.0}, {"beta": 0.5, "divergence": "js_divergence"})),
        (
            "DPO alpha_divergence",
            closed,
            preferred({"sigmoid": 1.0}, {"beta": 0.5, "divergence": "alpha_divergence", "alpha": 0.5}),
        ),
        ("DPO with LoRA", closed, preferred({"sigmoid": 1.0}, {"beta": 0.5}, peft=True)),
        ("DPO sigmoid, short micro-batch", "the mean over the window's pairs", short_micro_batch("sigmoid")),
        ("DPO sft, uneven micro-batches", "the mean over the window's tokens", short_micro_batch("sft")),
        ("KTO kto", closed, unpaired("kto")),
        ("KTO apo_zero_unpaired", closed, unpaired("apo_zero_unpaired")),
        ("Reward", closed, rewarding(None, 0.0)),
        ("Reward, margin and centre", closed, rewarding(MARGINS, 0.25)),
    ]
    for level in ("token", "sequence"):
        for name in types:
            form: dict[str, Any] = {"loss_type": name, "importance_sampling_level": level, "beta": 0.1}
            if name == "dr_grpo":
                form["max_completion_length"] = 16
            if name == "cispo":
                form["epsilon_high"] = 2.0
            found.append((f"GRPO {name}, {level}", closed, relative(form)))
    tight = {"beta": 0.0, "epsilon": 0.03, "epsilon_high": 0.05}
    by_sequence = {"importance_sampling_level": "sequence", "loss_type": "grpo"}
    return [
        *found,
        ("GRPO clipped", closed, relative({**tight, "loss_type": "grpo"}, learning_rate=0.1)),
        ("GRPO clipped, sequence", closed, relative({**tight, **by_sequence}, learning_rate=0.1)),
        ("GRPO two-sided", closed, relative({**tight, "delta": 1.02, "loss_type": "grpo"}, learning_rate=0.1)),
        ("GRPO plain KL", closed, relative({"beta": 0.1, "use_bias_correction_kl": False})),
        ("GRPO scaled by batch", closed, relative({"scale_rewards": "batch"})),
        ("GRPO rewards not scaled", closed, relative({"scale_rewards": "none"})),
        ("GRPO truncated, not counted", closed, relative({}, mask_truncated_completions=True)),
        ("GRPO tool mask", closed, relative({}, tools=True)),
        ("GRPO top_entropy_quantile", closed, relative({"top_entropy_quantile": 0.4}, num_iterations=1)),
        ("GRPO with LoRA", closed, relative({"beta": 0.1}, peft=True)),
        ("GRPO top_entropy_quantile, sequence", documented, entropy_by_sequence),
        ("GRPO truncated, in the mean", documented, truncated_in_the_mean),
        *((f"GRPO {name}, S = 2 K", documented, several_windows(name)) for name in ("dapo", "cispo", "vespo")),
        ("GRPO ratio of another sampler", closed, other_sampler),
        ("RLOO", closed, left_out(False, 0.1)),
        ("RLOO, advantages normalized", closed, left_out(True, 0.1)),
        ("RLOO without KL", closed, left_out(False, 0.0)),
    ]
