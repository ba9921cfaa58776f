"""The trainers of TRL that learn from a teacher on the report's rows, beside their closed forms."""

from collections.abc import Sequence
from typing import Any

from .objective_distilled import (
    Served,
    Support,
    of_completions,
    of_counted,
    of_distilled,
    of_micro_batches,
    other_divergence,
    shares,
)
from .objective_iw_opd import of_iw_opd
from .objective_record import ObjectiveRun, Taught
from .objective_sdpo import of_sampled_tokens
from .tiny import tiny_policy
from .trl_rows import GROUPS, VOCABULARY
from .trl_runs import Run, beside, compared

ANSWERS = [(prompt, completions[0]) for prompt, completions, _ in GROUPS]
# Longer than the answers, so that a count of these cannot be taken for one of those.
WRITTEN = [(prompt, (*range(40, 44 + i), 2)) for i, (prompt, _) in enumerate(ANSWERS)]
WRITTEN_COUNTED = "the tokens of the data set's own answers are counted, which are not trained on"
REPEATED = "the window's rows are counted again for each of its micro-batches"
BY_ITSELF = "each micro-batch is averaged by itself, so what stands in a short one weighs more"
SPLIT: dict[str, Any] = {"micro_batch": 1, "gradient_accumulation_steps": 2}


def teaching(beta: float, temperature: float) -> Run:
    """DistillationTrainer."""

    def run() -> ObjectiveRun:
        from .loops.distillation import run_distillation

        options: dict[str, Any] = {"beta": beta, "temperature": temperature, "learning_rate": 0.1}
        teacher = tiny_policy(VOCABULARY, 1)
        taught, changes = run_distillation(tiny_policy(VOCABULARY), teacher, ANSWERS, **options, **SPLIT)
        return documented(taught, changes, beta, temperature)

    return run


def documented(taught: list[list[Taught]], changes: dict[str, str], beta: float, temperature: float) -> ObjectiveRun:
    """A run beside 1 / N."""
    windows = shares(taught, beta, temperature)
    run = compared(windows, of_distilled(windows, VOCABULARY), changes)
    run.apart = other_divergence(taught, beta, temperature, VOCABULARY)
    return run


def counted(run: ObjectiveRun, windows: list[list[Any]], counts: Sequence[float], known: str) -> ObjectiveRun:
    """The same run beside 1 / count."""
    other = compared(windows, of_counted(windows, counts, VOCABULARY), run.changes)
    other.documented, other.known, other.apart = run.windows, known, run.apart
    return other


def generalized(name: str, beta: float, generated: bool) -> Run:
    """GKDTrainer and GOLDTrainer, by their names."""

    def run() -> ObjectiveRun:
        from .loops.gkd import run_gkd, run_gold

        drive = {"GKD": run_gkd, "GOLD": run_gold}[name]
        options: dict[str, Any] = {"beta": beta, "learning_rate": 0.1, "temperature": 1.0}
        written = WRITTEN if generated else None
        teacher = tiny_policy(VOCABULARY, 1)
        taught, changes = drive(tiny_policy(VOCABULARY), teacher, ANSWERS, written=written, **options, **SPLIT)
        right, windows = documented(taught, changes, beta, 1.0), shares(taught, beta, 1.0)
        rows = WRITTEN if generated else ANSWERS
        counts = [sum(len(rows[n][1]) for batch in window for n in batch.numbers) for window in windows]
        if name == "GKD" and not generated:
            return right
        said = WRITTEN_COUNTED * generated
        if name == "GOLD":
            counts = [n * len(window) for n, window in zip(counts, windows)]
            said = REPEATED + f", and {said}" * generated
        return counted(right, windows, counts, said)

    return run


def weighted_early() -> ObjectiveRun:
    """IWOPDTrainer."""
    from .loops.iw_opd import run_iw_opd

    teacher = tiny_policy(VOCABULARY, 1)
    driven = run_iw_opd(tiny_policy(VOCABULARY), teacher, ANSWERS, written=WRITTEN, learning_rate=0.1, **SPLIT)
    counts = [
        sum(len(WRITTEN[n][1]) for batch in window for n in batch.numbers) * len(window) for window in driven.windows
    ]
    return beside(driven, of_iw_opd(driven, 0.5, counts), of_iw_opd(driven, 0.5), f"{REPEATED}, and {WRITTEN_COUNTED}")


def diverging(beta: float, support: Support | Served, generated: bool) -> Run:
    """IWOPDTrainer with distillation_objective="jsd"."""

    def run() -> ObjectiveRun:
        from .loops.iw_opd import run_iw_opd_jsd

        options: dict[str, Any] = {"loss_top_k": support.words or 0, "loss_add_tail": support.tail, "temperature": 2.0}
        taught, changes = run_iw_opd_jsd(
            tiny_policy(VOCABULARY),
            tiny_policy(VOCABULARY, 1),
            ANSWERS,
            written=WRITTEN if generated else None,
            beta=beta,
            learning_rate=0.1,
            **options,
            **SPLIT,
        )
        windows, rows = shares(taught, beta, 2.0, support), WRITTEN if generated else ANSWERS
        right = compared(windows, of_distilled(windows, VOCABULARY), changes)
        right.apart = other_divergence(taught, beta, 2.0, VOCABULARY, support)
        counts = [sum(len(rows[n][1]) for batch in window for n in batch.numbers) * len(window) for window in windows]
        return counted(right, windows, counts, REPEATED + f", and {WRITTEN_COUNTED}" * generated)

    return run


def served(beta: float, support: Served) -> Run:
    """ServerDistillationTrainer, or AsyncDistillationTrainer where the support holds the token itself."""

    def run() -> ObjectiveRun:
        from .loops.async_distillation import run_async_distillation
        from .loops.server_distillation import run_server_distillation

        student, teacher = tiny_policy(VOCABULARY), tiny_policy(VOCABULARY, 1)
        options: dict[str, Any] = {"beta": beta, "learning_rate": 0.1, **SPLIT}
        if support.itself:
            options |= {"teacher_top_k": support.words, "add_tail_bucket": support.tail, "teacher_temperature": 2.0}
            taught, changes = run_async_distillation(student, teacher, ANSWERS, **options)
        else:
            options |= {"loss_top_k": support.words, "loss_add_tail": support.tail, "temperature": 2.0}
            taught, changes = run_server_distillation(student, teacher, ANSWERS, **options)
        windows = shares(taught, beta, 2.0, support)
        found = compared(windows, of_micro_batches(windows, VOCABULARY), changes)
        found.documented, found.known = compared(windows, of_distilled(windows, VOCABULARY), changes).windows, BY_ITSELF
        found.apart = other_divergence(taught, beta, 2.0, VOCABULARY, support)
        return found

    return run


def demonstrated(alpha: float, support: Support, skipped: int = 0, cap: float = 2.0, **more: Any) -> Run:
    """SDFTTrainer, with num_loss_tokens_to_skip and distillation_is_clip; more: of its options."""

    def run() -> ObjectiveRun:
        from .loops.sdft import run_sdft

        told = [(prompt, (50, 51, 52 + i), answer) for i, (prompt, answer) in enumerate(ANSWERS)]
        options: dict[str, Any] = {"distillation_alpha": alpha, "distillation_is_clip": cap, **more}
        options |= {"num_loss_tokens_to_skip": skipped, "learning_rate": 0.1}
        taught, changes = run_sdft(tiny_policy(VOCABULARY), told, **options, **support.asked(), **SPLIT)
        windows = shares(taught, alpha, 1.0, support)
        found = compared(windows, of_completions(windows, VOCABULARY, skipped, cap), changes)
        found.apart = other_divergence(taught, alpha, 1.0, VOCABULARY, support)
        return found

    return run


def at_sampled_tokens() -> ObjectiveRun:
    """SDFTTrainer with distillation_mode="sampled_token", off-policy."""
    from .loops.sdft import run_sdft_sampled

    told = [(prompt, (50, 51, 52 + i), answer) for i, (prompt, answer) in enumerate(ANSWERS)]
    options: dict[str, Any] = {"distillation_is_clip": 1.001, "num_loss_tokens_to_skip": 1, "num_iterations": 2}
    driven = run_sdft_sampled(tiny_policy(VOCABULARY), told, learning_rate=0.1, **options, **SPLIT)
    return beside(driven, of_sampled_tokens(driven, 1, 1.001))


def succeeded(alpha: float, support: Support, cap: float) -> Run:
    """SDPOTrainer with distillation alone, off-policy."""

    def run() -> ObjectiveRun:
        from .loops.groups import Group
        from .loops.sdpo import run_sdpo_words

        groups = [
            Group(prompt, [ids if ids[-1] == 2 else (*ids, 2) for ids in completions], [[r] for r in rewards])
            for prompt, completions, rewards in GROUPS
        ]
        options: dict[str, Any] = {"distillation_weight": 1.0, "distillation_alpha": alpha, "distillation_is_clip": cap}
        split: dict[str, Any] = {"micro_batch": 2, "gradient_accumulation_steps": 2, "num_iterations": 2}
        policy = tiny_policy(VOCABULARY)
        windows, taught, changes = run_sdpo_words(
            policy, groups, learning_rate=0.1, **options, **support.asked(), **split
        )
        measured = shares(windows, alpha, 1.0, support)
        found = compared(measured, of_completions(measured, VOCABULARY, cap=cap, taught=taught), changes)
        found.apart = other_divergence(windows, alpha, 1.0, VOCABULARY, support)
        return found

    return run


RUNS: tuple[tuple[str, bool, Run], ...] = (
    ("Distillation, beta 0", False, teaching(0.0, 1.0)),
    ("Distillation, beta 1/4", False, teaching(0.25, 2.0)),
    ("Distillation, beta 1/2", False, teaching(0.5, 2.0)),
    ("Distillation, beta 1", False, teaching(1.0, 1.0)),
    ("GKD, beta 0", False, generalized("GKD", 0.0, False)),
    ("GKD, beta 1/4", False, generalized("GKD", 0.25, False)),
    ("GKD, beta 1", False, generalized("GKD", 1.0, False)),
    ("GKD, generated", True, generalized("GKD", 0.5, True)),
    ("GOLD, written", True, generalized("GOLD", 0.25, False)),
    ("GOLD, generated", True, generalized("GOLD", 1.0, True)),
    ("IW-OPD", True, weighted_early),
    ("IW-OPD jsd, beta 0", True, diverging(0.0, Served(3, False), False)),
    ("IW-OPD jsd, beta 1/4", True, diverging(0.25, Support(), True)),
    ("IW-OPD jsd, beta 1", True, diverging(1.0, Served(), True)),
    ("Server distillation, beta 0", True, served(0.0, Served(3))),
    ("Server distillation, beta 0, no tail", True, served(0.0, Served(3, False))),
    ("Server distillation, beta 1/4", True, served(0.25, Served())),
    ("Server distillation, beta 1", True, served(1.0, Served())),
    ("Async distillation, beta 0", True, served(0.0, Served(3, itself=True))),
    ("Async distillation, beta 1/4", True, served(0.25, Served(2, itself=True))),
    ("Async distillation, beta 1", True, served(1.0, Served(2, itself=True))),
    ("SDFT", False, demonstrated(0.5, Support(5))),
    ("SDFT, tail and skipped tokens", False, demonstrated(1.0, Support(5, True), 1)),
    ("SDFT, all words, live teacher", False, demonstrated(0.25, Support(), teacher_model_kind="live")),
    ("SDFT, sampled tokens", False, at_sampled_tokens),
    ("SDFT, capped", False, demonstrated(0.25, Support(5), cap=1.001, num_iterations=2)),
    ("SDPO, few words, capped", False, succeeded(0.25, Support(5, True), 1.001)),
    ("SDFT, all words, averaged teacher", False, demonstrated(0.0, Support(), teacher_model_kind="ema")),
)
