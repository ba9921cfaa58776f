"""GOLD's loss across tokenizers on given texts and on generated ones, beside its closed form."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from .objective_record import ObjectiveRun
from .objective_universal import Across, of_gold_across
from .tiny import tiny_policy
from .trl_runs import Run

# Of student and teacher: they cut the same texts in other places, and the teacher knows more words.
MERGES = (
    (("a", "b"), ("c", "d"), ("ab", "cd"), ("e", "f")),
    (("b", "c"), ("d", "a"), ("e", "f"), ("ef", "g"), ("g", "h"), ("n", "o")),
)
# The last one is cut off.
SAMPLED = [
    ("ab", "cd", "c", "<2>"),
    ("a", "b", "ef", "g", "<2>"),
    ("cd", "ef", "h", "<2>"),
    ("d", "a", "b", "c", "n"),
]
TEXTS = [("xyz", "abcdefgh"), ("pq", "cdabcefg"), ("m", "dabcd"), ("no", "efgab")]
ADDED_UP = "the micro-batches of a window are added up and not averaged"
CUT_OFF = ", and the last token of a completion that was cut off is skipped as its end of sequence"
BEHIND = ", and each token is compared by the logits behind it, which predict the next one"


def across(known: str, form: Across, sampled: Sequence[Sequence[str]] = (), **options: Any) -> Run:
    """GOLDTrainer with use_uld_loss.

    Args:
        form: as it follows.
        sampled: [text] words that the student generates, and generation ends where it ends.
        options: of GOLDConfig, without "uld".
    """

    def run() -> ObjectiveRun:
        from .loops.gold_across import run_gold_across, run_gold_sampled, tokenizer_of_letters

        words = [tokenizer_of_letters(side).get_vocab() for side in MERGES]
        given = {name if name in ("beta", "use_extended_uld") else f"uld_{name}": x for name, x in options.items()}
        given |= {"micro_batch": 1, "gradient_accumulation_steps": 2, "learning_rate": 0.1}
        models = tiny_policy(len(words[0])), tiny_policy(len(words[1]), 1)
        if sampled:
            ids = [[words[0][word] for word in said] for said in sampled]
            taught, spelled, changes = run_gold_sampled(*models, MERGES, TEXTS, ids, **given)
        else:
            taught, spelled, changes = run_gold_across(*models, MERGES, TEXTS, **given)
        followed = form if form.pairs is None else with_pairs(form, *words)
        windows, apart = of_gold_across(taught, spelled, followed, divided=False)
        documented, _ = of_gold_across(taught, spelled, documented_as(followed), divided=True)
        return ObjectiveRun(windows, changes, documented, known, apart)

    return run


def with_pairs(form: Across, student: dict[str, int], teacher: dict[str, int]) -> Across:
    """The words that both vocabularies know, and GOLD's own weights of these and of the others."""
    pairs = [(student[word], number) for word, number in teacher.items() if word in student]
    part = len(pairs) / len(teacher)
    return replace(form, pairs=pairs, weights=(part, 1 - part))


def documented_as(form: Across) -> Across:
    """Each token by the logits that predict it, and nothing but an end of sequence skipped."""
    return replace(form, shifted=True, ends_alone=True)


RUNS: tuple[tuple[str, bool, Run], ...] = (
    (
        "GOLD across tokenizers, generated",
        True,
        across(ADDED_UP + CUT_OFF, Across("bayesian"), SAMPLED, token_merge_strategy="bayesian"),
    ),
    ("GOLD across tokenizers", True, across(ADDED_UP + BEHIND, Across(shifted=False))),
    (
        "GOLD across tokenizers, in order",
        True,
        across(ADDED_UP + BEHIND, Across(shifted=False, extended=False), use_extended_uld=False),
    ),
    (
        "GOLD across tokenizers, bayesian",
        True,
        across(
            ADDED_UP,
            Across("bayesian", crossentropy=0.5, distillation=2.0, temperatures=(2.0, 0.5), skip=(False, False)),
            token_merge_strategy="bayesian",
            crossentropy_weight=0.5,
            distillation_weight=2.0,
            student_temperature=2.0,
            teacher_temperature=0.5,
            skip_student_eos=False,
            skip_teacher_eos=False,
        ),
    ),
    (
        "GOLD across tokenizers, hybrid",
        True,
        across(
            ADDED_UP,
            Across("bayesian", pairs=(), beta=0.25),
            token_merge_strategy="bayesian",
            use_hybrid_loss=True,
            beta=0.25,
        ),
    ),
)
