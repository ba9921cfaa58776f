"""What is to be told of a run: findings with a code, and what cannot be judged."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..broken import release
from ..codes import code_of
from ..elsewhere import elsewhere_in_gradient
from ..objective_tokens import Sampled
from ..record import Record, Window
from ..report.report import Report
from . import marked
from .closed import deviations
from .finding import FAULT, LEVELS, NOTE, Finding
from .forms import NotTold
from .heard import Heard
from .taught import Teacher
from .tokens import Said, sentences
from .trained import MEAN, OWN, PAIRS, POLICY, REWARDS, TARGETS, UNKNOWN, Objective


def judge_run(
    record: Record, objective: Objective, tokenizer: object, heard: list[list[Heard]], dataset: Any = None
) -> tuple[str, list[Finding], tuple[str, ...]]:
    """What a run without a fault does right, empty where that cannot be judged; all findings, faults first; and stages.

    Stages are those of the first window that is wrong, or of the first; none where only the loss was measured.

    Args:
        heard: [rank] what the loss was given, of the ranks whose rows are in the record.
        dataset: rows as the script gave them to TRL's SFTTrainer, or None.
    """
    stages: tuple[str, ...] = ()
    if objective.kind in (TARGETS, PAIRS, POLICY, REWARDS):
        right, found = by_closed_form(record, objective, heard)
    elif objective.kind == UNKNOWN:
        right = ""
        found = [("not-judged", NOTE, objective.reason, n) for n in range(len(record.windows))]
        found += beside(record)
    else:
        right, found, stages = by_token_mean(record, objective)
        if isinstance(objective.hearing, Teacher):
            right, found = of_the_teacher(record, objective.hearing, right, found)
    found += [(said.code, said.level, said.text, said.window) for said in told(record, objective, tokenizer, dataset)]
    return right, merged(found), stages


def by_token_mean(record: Record, objective: Objective) -> tuple[str, list[tuple[str, str, str, int]], tuple[str, ...]]:
    """Compare with the token mean and name another formula."""
    found: list[tuple[str, str, str, int]] = []
    names: dict[str, None] = {}
    own = objective.kind == OWN or not objective.hearing.labelled
    verdicts = Report(record).verdicts
    for number, verdict in enumerate(verdicts):
        if verdict.name:
            names[f"{verdict.name}, w = {verdict.equation}"] = None
        for sentence in verdict.faults:
            code, level = code_of(sentence), FAULT
            if code in ("unreadable", "ambiguous"):
                code, level = "not-judged", NOTE
            elif own and code in ("unknown-formula", "foreign-term", "uneven-smoothing"):
                why = objective.reason or "the loss is computed outside of the model"
                code, level, sentence = "not-judged", NOTE, f"{sentence}; {why}, so this may be meant"
            found.append((code, level, sentence, number))
        found += [("remark", NOTE, remark, number) for remark in verdict.remarks]
    blind = any(code == "not-judged" for code, *_ in found)
    stages = next((verdict for verdict in verdicts if verdict.faults), verdicts[0]).stages
    return "" if blind else f"every target weighs the same: {' / '.join(names)}", found, stages


def of_the_teacher(
    record: Record, teacher: Teacher, right: str, found: list[tuple[str, str, str, int]]
) -> tuple[str, list[tuple[str, str, str, int]]]:
    """What a student does right, and what is found of it, with what its teacher and its trainer were heard to say."""
    said: list[tuple[str, str, str, int]] = []
    for number, other in enumerate(teacher.others):
        if other is not None:
            text = f"the gradient is not that of {teacher.units.named()}"
            text += f"; it is that with beta = {other[0]:g} at temperature {other[1]:g}" if other else ""
            said.append(("other-divergence", FAULT, text, number))
    # A formula of the weights is asked for only where they are weights of that divergence.
    apart = {number for *_, number in said}
    kept = [one for one in found if one[0] not in ("unknown-formula", "foreign-term") or one[3] not in apart]
    for number, (count, window) in enumerate(zip(teacher.counts, record.windows)):
        trained = window.targets()
        if np.isfinite(count) and count != trained and any(one[1] == FAULT and one[3] == number for one in kept):
            text = f"the trainer divides by its num_items_in_batch = {count:g}, and {trained} tokens are trained"
            kept.append(("remark", NOTE, text, number))
    sampled = isinstance(teacher.units.support, Sampled)
    what = "at the sampled tokens, by what its teacher says" if sampled else "in the divergence from its teacher"
    whose = f"every token weighs what {type(teacher.trainer).__name__} documents, {what}"
    return right and f"{whose}: {right.split(': ', 1)[1]}", [*said, *kept]


def by_closed_form(
    record: Record, objective: Objective, heard: list[list[Heard]]
) -> tuple[str, list[tuple[str, str, str, int]]]:
    """Compare with the closed form of one of TRL's losses."""
    code = {
        TARGETS: "supervised-weights",
        PAIRS: "preference-weights",
        POLICY: "policy-weights",
        REWARDS: "reward-weights",
    }[objective.kind]
    name = type(objective.trainer).__name__
    loss = named_loss(objective)
    whose = f"{name}, {loss}" if loss else name
    found = beside(record)
    try:
        told = deviations(record, objective, heard)
    except NotTold as missing:
        said = (
            f"the weights of {name} (trl {release('trl')}) are not compared with their closed form: {missing.args[0]}"
        )
        return "", [
            *found,
            *(("not-judged", NOTE, said, number) for number in range(len(record.windows))),
        ]
    found += [(code, FAULT, f"{said} ({whose})", number) for number, said in enumerate(told) if said]
    if objective.kind == POLICY:
        said = "how the trainer's rewards become its advantages is not looked at"
        found += [("not-judged", NOTE, said, number) for number in range(len(record.windows))]
    weighed = "reward" if objective.kind == REWARDS else "target"
    return f"every {weighed} weighs what {name} documents{f' ({loss})' if loss else ''}", found


def named_loss(objective: Objective) -> str:
    """What the trainer calls its loss; empty where it has one only."""
    loss = getattr(objective.trainer.args, "loss_type", "")
    # GMPO takes GRPO's arguments over, and has a loss of its own.
    return "" if objective.family == "GMPOTrainer" else "+".join(loss) if isinstance(loss, list) else str(loss)


def beside(record: Record) -> list[tuple[str, str, str, int]]:
    """What is wrong whatever the loss is."""
    return [
        (code_of(said), FAULT, said, number)
        for number, window in enumerate(record.windows)
        for said in elsewhere_in_gradient(window)
    ]


def told(record: Record, objective: Objective, tokenizer: object, dataset: Any) -> list[Said]:
    """What the tokens themselves show."""
    options = getattr(objective.trainer, "args", None)
    only = next(
        (name for name in ("assistant_only_loss", "completion_only_loss") if getattr(options, name, None) is True), ""
    )
    if objective.kind not in (MEAN, OWN, TARGETS):
        only = ""
    windows: list[Window] = record.windows
    # The trainers that inherit from it to teach a student mark its answers themselves, which may be the student's own.
    held = dataset is not None and objective.family == "SFTTrainer"
    by_dataset = marked.sentences(windows, objective.trainer, dataset) if held else []
    return [*by_dataset, *sentences(windows, tokenizer, only)]


def merged(found: Sequence[tuple[str, str, str, int]]) -> list[Finding]:
    """One finding for each code and level, in the words of its first window; faults first."""
    groups: dict[tuple[str, str], tuple[str, list[int]]] = {}
    for code, level, said, number in found:
        # Remarks are of many kinds, and each is told.
        key = (f"{code} {said}" if code == "remark" else code, level)
        groups.setdefault(key, (said, []))[1].append(number)
    return [
        Finding(code.split(" ")[0], level, said, tuple(sorted(set(numbers))))
        for (code, level), (said, numbers) in sorted(groups.items(), key=lambda item: LEVELS.index(item[0][1]))
    ]
