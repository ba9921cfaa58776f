"""A short code for everything that a verdict may find wrong; `docs/verdicts.md` has a section for each.

Codes are stable: a script, a dashboard or `--fail-on` may rely on them. The words of a verdict are not.
"""

import re
from collections.abc import Iterable
from typing import NamedTuple


class Kind(NamedTuple):
    """What a code stands for.

    Attributes:
        said: a regular expression that finds it in the words of a verdict.
        stage: where in the step it arises: labels, loss, backward, all-reduce, clip, step; or reading, when nothing
            can be told.
        told: what it is, in a few words.
    """

    said: str
    stage: str
    told: str


def kinds() -> dict[str, Kind]:
    """Every code, the first that fits a sentence being its own."""
    return {
        "unreadable": Kind(r"none of \d+ targets can be read", "reading", "rounding hides every weight"),
        "ambiguous": Kind(r"(rounding in \w+|alike, which) hides whether", "reading", "two formulas look alike"),
        "unscored-target": Kind(
            r"targets that should be scored carried no label", "labels", "targets that should be trained are not"
        ),
        "extra-target": Kind(
            r"targets carried a label that should not be scored", "labels", "targets that should not be trained are"
        ),
        "wrong-target": Kind(
            r"scored on another token than the one that follows", "labels", "labels are shifted wrongly"
        ),
        "mean-of-micro-batch-means": Kind(
            r"follow the mean of micro-batch means(?! divided)",
            "loss",
            "each micro-batch weighs the same, however long it is",
        ),
        "mean-of-rank-means": Kind(
            r"follow the mean of per-rank means", "loss", "each rank weighs the same, however many targets it has"
        ),
        "sum-of-rank-means": Kind(
            r"follow the sum of per-rank means", "loss", "means of ranks added up and never divided by R"
        ),
        "short-window": Kind(
            r"follow the mean of micro-batch means divided by \d+ though", "loss", "a short window divided by M"
        ),
        "sum-of-micro-batch-means": Kind(
            r"follow the sum of micro-batch means", "loss", "micro-batch means added up and never divided by M"
        ),
        "rows-weighted": Kind(
            r"follow the micro-batch means weighted by their rows", "loss", "micro-batch means weighted by rows"
        ),
        "divided-twice": Kind(
            r"follow the token mean divided once more", "loss", "a token mean divided by M or R again"
        ),
        "times-ranks": Kind(r"follow the token mean times R", "loss", "a token mean multiplied by the number of ranks"),
        "times-micro-batches": Kind(r"follow the token mean times M", "loss", "a token mean multiplied by M"),
        "last-micro-batch-only": Kind(
            r"follow the sum over the last micro-batch only", "backward", "only the last micro-batch is trained on"
        ),
        "first-micro-batches-only": Kind(
            r"follow the sum over the first \d+", "backward", "the last micro-batches are not trained on"
        ),
        "per-sequence-mean": Kind(r"follow the (mean of )?per-sequence mean", "loss", "each row weighs the same"),
        "token-sum": Kind(r"follow the sum over tokens", "loss", "the loss is a sum, not a mean"),
        "scaled": Kind(r"follow the token mean times [\d.e+-]", "loss", "a token mean times a number"),
        "other-formula": Kind(r"follow the ", "loss", "another formula than the token mean"),
        "unknown-formula": Kind(r"follow none of \d+ known formulas", "loss", "no known formula"),
        "unscored-gradient": Kind(
            r"tokens that should not be scored have a gradient", "loss", "masked tokens are trained all the same"
        ),
        "padding-trained": Kind(r"gradient reaches padding", "loss", "padding is trained"),
        "stray-gradient": Kind(r"ids that precede no target", "backward", "gradient at tokens that predict nothing"),
        "gradient-carried": Kind(
            r"gradient still holds \d+ rows", "step", "gradients of earlier windows were never emptied"
        ),
        "no-gradient": Kind(
            r"0 of \d+ trainable parameters hold a gradient", "backward", "no gradient arrived, nothing is trained"
        ),
        "row-missing": Kind(r"of the rows that were given never ran", "labels", "rows of the data never ran"),
        "foreign-term": Kind(
            r"is not a multiple of their own", "loss", "something else than these targets is in the gradient"
        ),
        "uneven-smoothing": Kind(
            r"share of a target's weight that is spread", "loss", "label smoothing of no single strength"
        ),
        "ranks-not-averaged": Kind(
            r"ranks are about to step on different gradients", "all-reduce", "the ranks' gradients were not averaged"
        ),
        "ranks-differ": Kind(
            r"ranks hold different gradients of",
            "all-reduce",
            "the ranks' gradients of some parameters were not averaged",
        ),
        "ranks-drift": Kind(
            r"differ between the ranks, \d+ of", "step", "parameters are no longer the same on all ranks"
        ),
        "not-reached": Kind(
            r"of \d+ trainable parameters reached:", "backward", "some trainable parameters get no gradient"
        ),
        "adapter-frozen": Kind(
            r"of the active adapter do not train", "backward", "parameters of the adapter in use are frozen"
        ),
        "ranks-summed": Kind(
            r"it is (the sum over the ranks|what rank \d+ alone)", "all-reduce", "no mean of the ranks' gradients"
        ),
        "gradient-lost": Kind(
            r"is not the sum of what the tokens contributed", "backward", "micro-batches lost, kept or overwritten"
        ),
        "gradient-not-finite": Kind(
            r"the step consumed gradients that are not finite", "clip", "the optimizer stepped on nan or inf"
        ),
        "gradient-emptied": Kind(
            r"was emptied between backward and the step", "clip", "zero_grad between backward and the step"
        ),
        "clipped-partly": Kind(r"clipped on a partial list", "clip", "some parameters are clipped and others are not"),
        "clipped-wrongly": Kind(
            r"(clipping to .* should multiply|ranks multiplied their parts)",
            "clip",
            "another clip than the one asked for",
        ),
        "gradient-rescaled": Kind(
            r"the gradient was (multiplied|scaled) by", "clip", "a factor that no clip explains, as a loss scale kept"
        ),
        "gradient-changed": Kind(
            r"the gradient was changed between backward", "clip", "something else than a common factor"
        ),
        "not-in-optimizer": Kind(
            r"are in no group of the optimizer", "step", "trainable parameters that no optimizer steps"
        ),
        "twice-in-optimizer": Kind(
            r"in several places of the optimizer's groups", "step", "parameters that are stepped twice"
        ),
        "wrong-moments": Kind(r"the optimizer took in", "step", "the optimizer's state took in another gradient"),
        "wrong-update": Kind(
            r"(prescribes$|prescribes no change$)", "step", "parameters do not move by the optimizer's rule"
        ),
        "stepped-again": Kind(r"the optimizer stepped \d+ times", "step", "several steps on one gradient"),
        "lost-on-the-way": Kind(
            r"backward delivered other weights than", "backward", "the gradient changed after backward"
        ),
    }


def of_the_run() -> dict[str, Kind]:
    """Codes for what only the surroundings of a run can tell."""
    return {
        "prompt-trained": Kind("", "labels", "prompts are trained though the trainer was told to leave them out"),
        "first-answer-token-lost": Kind("", "labels", "the first token of each answer is no target"),
        "answer-not-trained": Kind("", "labels", "tokens that the dataset marks as answers are no targets"),
        "eos-never-trained": Kind("", "labels", "the end of sequence is never a target"),
        "nothing-trained-in-row": Kind("", "labels", "a row without any target"),
        "preference-weights": Kind("", "loss", "weights that no preference loss of this kind gives"),
        "policy-weights": Kind("", "loss", "weights that are not those of the trainer's own advantages"),
        "reward-weights": Kind("", "loss", "rewards that do not weigh what the loss of a reward model gives them"),
        "supervised-weights": Kind("", "loss", "weights that the configured loss type does not give"),
        "other-divergence": Kind("", "loss", "a student is pulled along another divergence than the configured one"),
        "schedule-runs-ahead": Kind("", "step", "a learning-rate schedule that moves on for each micro-batch"),
        "leak": Kind("", "loss", "the loss of one document depends on the tokens of another"),
        "not-causal": Kind("", "loss", "the loss of a target depends on the tokens behind it"),
        "remark": Kind("", "reading", "what belongs to the answer and is no fault"),
        "not-judged": Kind("", "reading", "the run has no closed form here"),
    }


def code_of(sentence: str) -> str:
    """The code of one sentence of a verdict; "other" for one that has none, which a test forbids."""
    return next((code for code, kind in kinds().items() if re.search(kind.said, sentence)), "other")


def first_stage(sentences: Iterable[str]) -> str:
    """The first stage of the step at which one of these arises; empty without any."""
    order = ["labels", "loss", "backward", "all-reduce", "clip", "step", "reading"]
    there = {kinds()[code].stage for code in map(code_of, sentences) if code in kinds()}
    return next((stage for stage in order if stage in there), "")
