"""What every loop over a trainer changes from its defaults, and what it reads from its log."""

from importlib.metadata import version
from typing import Any

from torch.utils.data import SequentialSampler

CHANGES = {
    "train_sampling_strategy": "sequential: the rows come in the given order",
    "max_grad_norm": "0: no clipping, which would rescale every weight",
    "lr_scheduler_type": "constant",
    "use_cpu": "True",
    "report_to": "none",
    "save_strategy": "no",
    "logging_steps": "1: one logged loss per optimizer step, and none printed",
}
# Arguments that older releases do not know, and what each of them does without: left out with that value, and no other.
UNKNOWN_TO_OLDER = {
    "train_sampling_strategy": ("sequential", "random"),
    "shuffle_dataset": (False,),
    "completion_only_loss": (False,),
    "loss_type": ("nll",),
    "loss_weights": ([1.0],),
    "num_iterations": (1,),
    "importance_sampling_level": ("token",),
    "use_bias_correction_kl": (False,),
    "multi_objective_aggregation": ("sum_then_normalize",),
}
TRL_CHANGES = {**CHANGES, "bf16": "False: the model keeps its own dtype"}


def of_trainer(config: Any, folder: str, **given: Any) -> Any:
    """Arguments of a trainer for one epoch: its own defaults, with CHANGES and then the given ones over them."""
    common = {
        "output_dir": folder,
        "num_train_epochs": 1,
        "train_sampling_strategy": "sequential",
        "max_grad_norm": 0.0,
        "lr_scheduler_type": "constant",
        "use_cpu": True,
        "report_to": [],
        "save_strategy": "no",
        "logging_steps": 1,
        "disable_tqdm": True,
        "dataloader_pin_memory": False,
    }
    return config(**known(config, {**common, **given}))


def known(config: Any, settings: dict[str, Any]) -> dict[str, Any]:
    """Settings without those that the class does not know and of which it can do no other than what they say.

    Raises:
        LookupError: one that it does not know and that says something else.
    """
    unknown = {name: value for name, value in settings.items() if name not in config.__dataclass_fields__}
    for name, value in unknown.items():
        if value not in UNKNOWN_TO_OLDER.get(name, ()):
            library = config.__module__.partition(".")[0]
            raise LookupError(f"{library} {version(library)}: {config.__name__} knows no {name}, asked for {value!r}")
    return {name: value for name, value in settings.items() if name not in unknown}


def chooses_order(config: Any) -> bool:
    """Whether the arguments name the order of the rows; those of transformers before 5 draw it, and nothing else."""
    return "train_sampling_strategy" in config.__dataclass_fields__


def in_order(trainer: Any) -> None:
    """Have a trainer whose arguments cannot say so take the rows in the given order."""
    if not chooses_order(type(trainer.args)):
        trainer._get_train_sampler = lambda *dataset: SequentialSampler(trainer.train_dataset)


def of_trl(config: Any, folder: str, **given: Any) -> Any:
    """As ``of_trainer``, for a trainer of TRL, which asks for bfloat16 and for checkpointing by itself."""
    # By its old name, of which newer releases of transformers warn.
    checkpointing = {name: True for name in ("activation_checkpointing",) if name in config.__dataclass_fields__}
    return of_trainer(config, folder, **{"bf16": False, **checkpointing, **given})


def logged(trainer: Any) -> list[float]:
    """The loss that a trainer has logged at each optimizer step."""
    return [entry["loss"] for entry in trainer.state.log_history if "loss" in entry]
