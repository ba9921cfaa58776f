"""The shape of a fault."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

Call = Callable[..., Any]

Family = Literal[
    "normalisation",
    "ranks",
    "masks",
    "data",
    "packing",
    "checkpointing",
    "adapters",
    "preference",
    "policy",
    "distillation",
    "regularizers",
    "optimizer",
    "samplers",
    "logging",
    "precision",
    "instrument",
]


@dataclass(frozen=True, kw_only=True)
class Fault:
    """One defect of a training library, ready to be switched on.

    Attributes:
        family: what kind of defect: of the normalisation (and accumulation), of label masks and shifts, of data
            (collators and templates), of policy losses (advantages, ratios, clipping, KL), of this project's own
            instrument, and so on.
        library: the requirement it applies to, e.g. "transformers>=5", or "instrument" for this project's own.
        seam: the function that is replaced, as "module:qualified name".
        source: link to the public report; empty for a fault of the instrument itself, which nobody reported: it is
            written to slip past the tests.
        year: of the report; 0 without one.
        mechanism: one sentence: what the code then does wrong.
        effect: the closed form that the measurement must then equal, as "module:name".
        quantity: what is measured: the "weights" of the targets, the "log" over the objective, the "leak" between
            sequences, or of two "run"s, without the instrument and with it, which parts differ; or the "ledger":
            how often each sample ran, or what its targets were divided by; or the "verdict": whether a window is right,
            how far its weights are off, and how many formulas fit. Behind backward: the "reach" of the gradient, the
            "shares" of the micro-batches in it, the factor of a "clip", and the optimizer's "groups", "decay", "steps"
            and "rate".
        visible: the scenario of tests/faults/scenarios.py in which the fault shows.
        patch: takes the original function and returns the broken one; it installs nothing. Of a fault that `dilutes`
            it takes a strength too, 1 for the fault itself.
        clean: the closed form of that scenario without the fault; empty when it is the token mean, the true log,
            sequences that are separate, or runs that are the same.
        dilutes: how the effect of a weaker form (`faults._strength`) lies between the clean form and the effect at full
            strength: "linear" where losses, factors or logs are mixed, "harmonic" where divisors are; empty where the
            fault has no weaker form, since what it gets wrong is a choice and no number.
    """

    family: Family
    library: str
    seam: str
    mechanism: str
    effect: str
    quantity: Literal[
        "weights",
        "log",
        "leak",
        "run",
        "ledger",
        "verdict",
        "reach",
        "shares",
        "clip",
        "groups",
        "decay",
        "steps",
        "rate",
    ]
    visible: str
    patch: Callable[..., Call]
    clean: str = ""
    dilutes: Literal["", "linear", "harmonic"] = ""
    source: str = ""
    year: int = 0


def library_of(fault: Fault) -> str:
    """The library whose function a fault breaks."""
    return fault.seam.split(".")[0].split(":")[0]


def emulated_from(fault: Fault) -> str:
    """The project that a fault was reported of, "owner/name", where it is planted in another library than that one.

    Empty where the report is of the library itself, and of a fault that nobody reported.
    """
    library = library_of(fault)
    home = f"{'pytorch' if library == 'torch' else 'huggingface'}/{'pytorch' if library == 'torch' else library}"
    _, _, path = fault.source.partition("//")
    host, *parts = path.split("/")
    project = "/".join(parts[:2]) if host == "github.com" else host
    return "" if project == home else project
