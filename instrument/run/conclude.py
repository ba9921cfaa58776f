"""From what was recorded of a script that has ended to what is to be told of it."""

from typing import Any

from .find import Finder
from .finding import FAULT, LEVELS, Finding
from .given import GivenRows
from .outcome import Outcome
from .ranks import Meeting
from .script import Ending

ELSEWHERE = (
    "; what it starts in other processes is measured where they run under it, as in "
    "torchrun --no-python weighbridge run train.py"
)


def conclude(
    words: list[str], finder: Finder, given: GivenRows, ending: Ending, meeting: Meeting, tokenizer: str | None
) -> Outcome | None:
    """Judge the recorded windows; None on a rank that is not the one to tell."""
    attached: Any = finder.recorder
    known: dict[str, Any] = {"script": words, "status": ending.status, "notes": notes(finder, ending)}
    if attached is not None:
        known |= beside(attached)
        known["notes"] += [f"the measurement CHANGED the run: {what}" for what in known["certificate"].broken()]
    reason = why_nothing(finder, ending)
    record = attached.record if attached is not None and attached.record.windows else None
    heard = [] if attached is None else [attached.objective.hearing.heard]
    if meeting.ranks > 1:
        meeting.leave(record, reason, *heard)
        if meeting.rank:
            return None
        if not reason:
            record, reason, heard = meeting.gather()
    if attached is None and (astray := in_no_optimizer(finder)):
        return Outcome(findings=astray, **known)
    if attached is None or record is None:
        return Outcome(reason=reason, **known)
    decoder = attached.around.tokenizer
    if tokenizer:
        try:
            decoder = load_tokenizer(tokenizer)
        # Of whatever kind: the run is measured, and its verdict needs no text.
        except Exception as problem:
            said = f"{type(problem).__name__}: {problem}".splitlines()[0]
            known["notes"].append(f"--tokenizer {tokenizer} cannot be loaded ({said}): give a folder that holds one")
    known |= {
        "model": finder.model,
        "tokenizer": reader_of(record, decoder),
        "options": attached.around.options,
        "record": record,
    }
    if reason:
        return Outcome(reason=reason, **known)
    # Imported here: a script that never imports torch need not wait for it.
    from .judge import judge_run
    from .leaks import findings_of

    dataset = given.of(attached.objective.trainer)
    right, findings, stages = judge_run(record, attached.objective, known["tokenizer"], heard, dataset)
    if known["leaks"] is not None:
        findings += findings_of(known["leaks"])
    micro_batches = [window.micro_batches for window in record.windows]
    whole = ending.status == 0 and ending.error is None and not ending.stopped
    findings += attached.schedules.findings(micro_batches, meeting.ranks, whole)
    findings = sorted(findings, key=lambda finding: LEVELS.index(finding.level))
    return Outcome(right=right, findings=findings, stages=stages, **known)


def beside(attached: Any) -> dict[str, Any]:
    """What is known of a run beside its weights."""
    search = attached.leaks
    return {
        "certificate": attached.witness.certificate(),
        "changes": attached.changes,
        "leaks": None if search is None else search.found,
        "unsearched": several(attached.record) if search is None else search.why,
        "own_labels": search is not None and search.labelled,
    }


def several(record: Any) -> str:
    """That nobody asked whether documents of one row see each other; empty where each row has one."""
    most = max((row.starts.size for window in record.windows for row in window.rows), default=0)
    return f"a row holds {most} documents, and whether one sees another is asked by --leaks" if most > 1 else ""


def why_nothing(finder: Finder, ending: Ending) -> str:
    """Why there is no verdict at all; empty when a whole window was recorded."""
    attached: Any = finder.recorder
    if attached is not None:
        if attached.record.windows:
            return ""
        if attached.problem and ending.error is not None and not isinstance(ending.error, SystemExit):
            return f"{how(ending)} before an optimizer step ended the first window: {attached.problem}"
        if attached.problem:
            return attached.problem
        return f"{how(ending)} before an optimizer step ended the first window, so no window is whole"
    if finder.refused:
        return "; ".join(f"{name}: {reason}" for name, reason in finder.refused.items())
    if not finder.imported:
        return f"{how(ending)} without importing torch: it trains nothing in this process{ELSEWHERE}"
    if finder.late:
        return f"{how(ending)} after one optimizer step, whose first forward ran before there was an optimizer"
    if finder.ran:
        return (
            f"{', '.join(finder.ran)} ran with gradients on, but no torch optimizer holds a parameter of it: "
            "pass the model's own parameters to a torch.optim optimizer"
        )
    if finder.made:
        return f"{how(ending)} without running a model with gradients on: it trains nothing in this process{ELSEWHERE}"
    return f"{how(ending)} without an optimizer: it trains nothing in this process{ELSEWHERE}"


def in_no_optimizer(finder: Finder) -> list[Finding]:
    """Models whose optimizer stepped and holds what is frozen of them, and nothing that is to be trained."""
    if not finder.moved or finder.refused:
        return []
    return [
        Finding(
            "not-in-optimizer",
            FAULT,
            f"{len(names)} of {len(names)} trainable parameters are in no group of the optimizer, which holds frozen "
            f"ones of {model} alone, so nothing is trained: {', '.join(names[:2])}"
            + (f" and {len(names) - 2} more" if names[2:] else ""),
            (),
        )
        for model, names in finder.astray.items()
    ]


def how(ending: Ending) -> str:
    """How the script ended, as the beginning of a sentence."""
    if ending.at_once:
        return f"the script left by os._exit with status {ending.status}"
    if isinstance(ending.error, SystemExit):
        return f"the script left with exit status {ending.status}"
    if ending.error is not None:
        return f"the script failed with {type(ending.error).__name__}"
    return "the script ended"


def notes(finder: Finder, ending: Ending) -> list[str]:
    """How the model was chosen, what was left out, how the recording ended."""
    attached: Any = finder.recorder
    said = []
    if attached is not None:
        others = [*finder.also, *finder.refused]
        if others:
            said.append(
                f"chosen: {finder.model}, the first that ran with gradients on and whose parameters an optimizer "
                f"holds; {', '.join(others)} was trained too and not measured"
            )
        if finder.late:
            said.append("the first step was not seen whole, since the model ran before its optimizer was there")
        if attached.cut:
            said.append(f"a half-recorded window, which no optimizer step ended, was thrown away: {how(ending)} in it")
        if attached.unfollowed:
            said.append(f"what follows backward was not measured: {attached.unfollowed}")
        if attached.problem and attached.record.windows:
            said.append(f"the recording ended early: {attached.problem}")
    if ending.stopped:
        said.append(
            f"stopped after {finder.steps} optimizer step{'s' * (finder.steps != 1)}, as --stop asks: what the script "
            "does behind them did not run"
        )
    elif finder.stopped:
        said.append("the script caught what was raised to stop it, and ran on to its own end")
    return said


def reader_of(record: Any, tokenizer: Any) -> Any:
    """What turns the ids of a record into text; None where the tokenizer is not that of the model."""
    if not record.tokens:
        from .tokens import Classes

        return Classes()
    size = getattr(tokenizer, "vocab_size", None)
    largest = max((int(row.ids.max(initial=0)) for window in record.windows for row in window.rows), default=0)
    return tokenizer if size is not None and largest < max(size, record.vocabulary) else None


def load_tokenizer(place: str) -> Any:
    """The tokenizer of --tokenizer."""
    from transformers import AutoTokenizer

    return AutoTokenizer.from_pretrained(place)
