"""What a run says that it minimises: the kind of its loss."""

from dataclasses import dataclass
from typing import Any

from ..loops.refused import LOSSES
from .heard import Hearing
from .lessons import odd
from .surroundings import Surroundings
from .taught import Teacher

MEAN, OWN, UNKNOWN = "token mean", "own", "unknown"
TARGETS, PAIRS, POLICY, REWARDS = "supervised", "pairs", "policy", "rewards"
TAUGHT = "taught"
TAUGHT_BY = ("DistillationTrainer", "GKDTrainer", "GOLDTrainer", "SDFTTrainer", "SDPOTrainer", "IWOPDTrainer")
# Trainers of which a run of yours has no closed form, and why.
WITHOUT = {
    "ServerDistillationTrainer": "its teacher runs in another program, which tells of a few words of each token only: "
    "`weighbridge report --only trl` holds its loss against the closed form",
    "AsyncDistillationTrainer": "its teacher runs in another program, which tells of a few words of each token only: "
    "`weighbridge report --only trl` holds its loss against the closed form",
}


@dataclass(frozen=True)
class Objective:
    """The loss of a run, as far as it is known.

    Attributes:
        kind: MEAN: the token mean; TARGETS, PAIRS, POLICY, REWARDS: TRL's losses that have closed forms of their own;
            TAUGHT: a mean of the divergence from a teacher; OWN: computed outside of the model; UNKNOWN: a trainer
            whose loss has no closed form here.
        reason: why a kind is OWN or UNKNOWN.
        trainer: whose loss it is, or None.
        family: the class of it that transformers or TRL wrote, by name; empty without a trainer.
        hearing: what the loss is given at each recorded forward.
    """

    kind: str
    reason: str
    trainer: Any
    family: str
    hearing: Hearing


def objective_of(around: Surroundings) -> Objective:
    """The loss that a trainer is known to have, or that of the model when there is no trainer."""
    trainer = around.trainer
    kind, reason, family = kind_of(trainer, around.kinds())
    if kind == TAUGHT:
        return Objective(kind, reason, trainer, family, Teacher(trainer))
    heard = family if kind in (TARGETS, PAIRS, POLICY, REWARDS) else ""
    return Objective(kind, reason, trainer, family, Hearing(heard, getattr(trainer, "ref_model", None)))


def kind_of(trainer: Any, kinds: list[str]) -> tuple[str, str, str]:
    """Kind, reason and family of an Objective; kinds: the classes of the trainer, by name."""
    if trainer is None:
        return MEAN, "", ""
    name = next((kind for kind in kinds if kind.endswith("Trainer")), kinds[0])
    first = next(kind for kind in type(trainer).__mro__ if not written_here(kind)).__name__
    changed = overridden(trainer)
    if changed:
        return OWN, f"{changed} of the script computes the loss", first
    if getattr(trainer, "compute_loss_func", None) is not None:
        return OWN, "compute_loss_func computes the loss", first
    if first == "Trainer" or first == "Seq2SeqTrainer":
        return MEAN, "", first
    strange = unknown_loss(trainer.args, first)
    if strange:
        return UNKNOWN, f"{name} with loss_type={strange!r} has no closed form here", first
    if first == "SFTTrainer":
        # Releases before 0.21 have this one only, and no name for it.
        return MEAN if getattr(trainer.args, "loss_type", "nll") == "nll" else TARGETS, "", first
    known = {
        **dict.fromkeys(("DPOTrainer", "KTOTrainer", "CPOTrainer", "ORPOTrainer", "OnlineDPOTrainer"), PAIRS),
        **dict.fromkeys(("GRPOTrainer", "GMPOTrainer", "RLOOTrainer"), POLICY),
        "RewardTrainer": REWARDS,
        **dict.fromkeys(TAUGHT_BY, TAUGHT),
    }
    if first in WITHOUT:
        return UNKNOWN, f"the loss of {name} is not compared: {WITHOUT[first]}", first
    if first not in known:
        return UNKNOWN, f"the loss of {name} is not compared with its closed form on a run of yours", first
    if first in TAUGHT_BY and (why := odd(trainer)):
        return UNKNOWN, f"the loss of {name} is not compared: {why}", first
    strange = unusual(trainer.args, trainer)
    return (UNKNOWN, f"{name} with {strange} has no closed form here", first) if strange else (known[first], "", first)


def overridden(trainer: Any) -> str:
    """The method of a class of the script that computes the loss in the place of the library's; empty without one."""
    for kind in type(trainer).__mro__:
        if not written_here(kind):
            return ""
        found = [name for name in ("compute_loss", "_compute_loss", "training_step") if name in vars(kind)]
        if found:
            return f"{kind.__name__}.{found[0]}"
    return ""


def unknown_loss(args: Any, family: str) -> str:
    """A loss of the trainer that has no closed form here, as another release may have one; empty without one."""
    asked, known = getattr(args, "loss_type", None), LOSSES.get(family.replace("Trainer", "Config"))
    names = [asked] if isinstance(asked, str) else asked or []
    return next((name for name in names if known and name not in known), "")


def written_here(kind: type) -> bool:
    """Whether a class is of neither transformers nor TRL."""
    return kind.__module__.split(".")[0] not in ("transformers", "trl")


def unusual(args: Any, trainer: Any) -> str:
    """An argument for which the closed forms here do not hold, with its value; empty without one."""
    plain = {
        "use_weighting": (False,),
        "use_vllm": (False,),
        "off_policy_mask_threshold": (None,),
        "top_entropy_quantile": (1.0,),
        "entropy_coef": (None, 0, 0.0),
        "use_adaptive_entropy": (False,),
        "sync_ref_model": (False,),
        "use_liger_kernel": (False,),
        "router_aux_loss_coef": (None, 0, 0.0, 0.001),
        "temperature": (1.0,),
        "sapo_temperature_pos": (1.0,),
        "sapo_temperature_neg": (1.05,),
    }
    if getattr(trainer, "aux_loss_enabled", False):
        return "a router's loss"
    if getattr(trainer, "is_encoder_decoder", False):
        return "an encoder"
    if type(args).__name__ == "OnlineDPOConfig" or getattr(trainer, "teacher_model", None) is not None:
        # It draws by it, and scores without; a student's divergence has one of its own.
        del plain["temperature"]
    strange = [name for name, usual in plain.items() if hasattr(args, name) and getattr(args, name) not in usual]
    return f"{strange[0]}={getattr(args, strange[0])!r}" if strange else ""
