"""trl.experimental and TRL's default bfloat16 on the report's rows, beside their closed forms."""

from typing import Any

from .objective_free import FreeOptions, of_cpo, of_orpo, of_tpo
from .objective_geometric import of_gmpo
from .objective_online import of_online_dpo
from .objective_pairs import PairOptions, of_dpo, of_sft
from .objective_policy import Options, of_grpo
from .objective_record import ObjectiveRun
from .tiny import near, tiny_policy
from .trl_across import RUNS as ACROSS
from .trl_deviations import rescaled
from .trl_rewarded import RUNS as REWARDED
from .trl_rows import GOLD, PAIRS, ROWS, VOCABULARY, groups, rewards
from .trl_runs import BETWEEN, Run, beside
from .trl_taught import RUNS as TAUGHT

WINDOW: dict[str, Any] = {"micro_batch": 2, "gradient_accumulation_steps": 2}


def without_reference(loss_type: str, **form: Any) -> Run:
    """CPOTrainer; form: options of the closed form."""

    def run() -> ObjectiveRun:
        from .loops.reference_free import run_cpo

        options = {"beta": 0.5, **form}
        given = {"label_smoothing" if name == "epsilon" else name: value for name, value in options.items()}
        driven = run_cpo(tiny_policy(VOCABULARY), PAIRS, loss_type=loss_type, learning_rate=0.1, **given, **WINDOW)
        return beside(driven, of_cpo(driven, FreeOptions(loss_type, **options)))

    return run


def with_gold(loss_type: str, tpo_alpha: float) -> Run:
    """TPOTrainer."""

    def run() -> ObjectiveRun:
        from .loops.reference_free import run_tpo

        options: dict[str, Any] = {"tpo_alpha": tpo_alpha, "tpo_l_gamma": 0.25, "label_smoothing": 0.125, "beta": 0.5}
        triples = [(*pair, gold) for pair, gold in zip(PAIRS, GOLD)]
        driven = run_tpo(tiny_policy(VOCABULARY), triples, loss_type=loss_type, learning_rate=0.1, **options, **WINDOW)
        return beside(driven, of_tpo(driven, FreeOptions(loss_type, 0.5, 0.125, simpo_gamma=0.25), tpo_alpha))

    return run


def odds() -> ObjectiveRun:
    """ORPOTrainer."""
    from .loops.reference_free import run_orpo

    driven = run_orpo(tiny_policy(VOCABULARY), PAIRS, beta=0.5, learning_rate=0.1, **WINDOW)
    return beside(driven, of_orpo(driven, [len(prompt) for prompt, _, _ in PAIRS], 0.5))


def geometric(beta: float) -> Run:
    """GMPOTrainer, off-policy and clipped."""

    def run() -> ObjectiveRun:
        from .loops.grpo import run_gmpo

        model = tiny_policy(VOCABULARY)
        options: dict[str, Any] = {"beta": beta, **BETWEEN}
        more: dict[str, Any] = {"num_iterations": 2, "learning_rate": 0.1, **WINDOW}
        driven = run_gmpo(model, groups(), reference=near(model) if beta else None, **options, **more)
        return beside(driven, of_gmpo(driven, rewards(), 2, Options(**options, steps_per_generation=2)))

    return run


def online(loss_type: str) -> Run:
    """OnlineDPOTrainer: it backpropagates each micro-batch's mean, and divides only what it logs by K."""

    def run() -> ObjectiveRun:
        from .loops.online_dpo import run_online_dpo

        model = tiny_policy(VOCABULARY)
        settings: dict[str, Any] = {"micro_batch": 1, "gradient_accumulation_steps": 2}
        driven = run_online_dpo(
            model, groups(), reference=near(model), loss_type=loss_type, beta=0.5, learning_rate=0.05, **settings
        )
        form = of_online_dpo(driven, rewards(), loss_type, 0.5)
        even = rescaled(form, [[1 / len(window)] * len(window) for window in form])
        known = "the micro-batches of a window are added up, so the gradient is K times that of their mean"
        return beside(driven, form, even, known)

    return run


def half_supervised() -> ObjectiveRun:
    """SFTTrainer in bfloat16."""
    from .loops.sft import run_supervised

    driven = run_supervised(tiny_policy(VOCABULARY).float(), ROWS, bf16=True, **WINDOW)
    return beside(driven, of_sft(driven))


def half_preferred() -> ObjectiveRun:
    """DPOTrainer in bfloat16."""
    from .loops.dpo import run_dpo

    model = tiny_policy(VOCABULARY).float()
    driven = run_dpo(model, PAIRS, reference=near(model), bf16=True, beta=0.5, learning_rate=0.1, **WINDOW)
    return beside(driven, of_dpo(driven, {"sigmoid": 1.0}, PairOptions(0.5)))


def half_relative() -> ObjectiveRun:
    """GRPOTrainer in bfloat16, on the policy that generated."""
    from .loops.grpo import run_grpo

    driven = run_grpo(tiny_policy(VOCABULARY).float(), groups(), bf16=True, learning_rate=0.03, beta=0.0, **WINDOW)
    return beside(driven, of_grpo(driven, rewards(), 2, Options(steps_per_generation=2)))


RUNS: tuple[tuple[str, bool, Run], ...] = (
    ("CPO sigmoid", False, without_reference("sigmoid", epsilon=0.25)),
    ("CPO hinge", False, without_reference("hinge", beta=2.0)),
    ("CPO ipo", False, without_reference("ipo")),
    ("SimPO", False, without_reference("simpo", cpo_alpha=0.0)),
    ("AlphaPO", False, without_reference("simpo", cpo_alpha=0.0, alpha=0.25)),
    ("TPO sigmoid", False, with_gold("sigmoid", 1.0)),
    ("TPO hinge", False, with_gold("hinge", 0.5)),
    ("TPO ipo", False, with_gold("ipo", 1.0)),
    ("TPO tpo-l", False, with_gold("tpo-l", 1.0)),
    ("TPO without gold", False, with_gold("sigmoid", 0.0)),
    ("ORPO", False, odds),
    ("GMPO", False, geometric(0.0)),
    ("GMPO with KL", False, geometric(0.1)),
    *TAUGHT,
    *ACROSS,
    *REWARDED,
    ("Online DPO, sigmoid", True, online("sigmoid")),
    ("Online DPO, ipo", True, online("ipo")),
    ("bfloat16: SFT nll", False, half_supervised),
    ("bfloat16: DPO sigmoid", False, half_preferred),
    ("bfloat16: GRPO dapo", False, half_relative),
)
