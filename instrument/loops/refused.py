"""What the loops of TRL's trainers refuse, so that a mistake is told in their words and never trained on."""

from collections.abc import Iterable, Sequence
from importlib.metadata import version
from typing import Any

# By the class of its arguments, the losses that a trainer has a formula for in some release; none where it takes the
# option over from another trainer and looks at it never.
LOSSES: dict[str, tuple[str, ...]] = {
    "SFTConfig": ("nll", "dft"),
    "DPOConfig": (
        *("sigmoid", "hinge", "ipo", "exo_pair", "nca_pair", "robust", "bco_pair", "sppo_hard", "aot", "aot_unpaired"),
        *("apo_zero", "apo_down", "discopop", "sft", "sigmoid_norm"),
    ),
    "KTOConfig": ("kto", "apo_zero_unpaired"),
    "GRPOConfig": ("grpo", "bnpo", "dr_grpo", "dapo", "cispo", "sapo", "luspo", "vespo"),
    "CPOConfig": ("sigmoid", "hinge", "ipo", "simpo"),
    "TPOConfig": ("sigmoid", "hinge", "ipo", "tpo-l"),
    "OnlineDPOConfig": ("sigmoid", "ipo"),
    "SDPOConfig": ("grpo", "bnpo", "dr_grpo", "dapo"),
    "GMPOConfig": (),
    "GKDConfig": (),
    "GOLDConfig": (),
}
# What else a trainer looks at by its name; some take any other word for one of these, or for none, and say nothing.
CHOICES: dict[str, tuple[Any, ...]] = {
    "importance_sampling_level": ("token", "sequence"),
    "scale_rewards": ("group", "batch", "none", True, False),
    "multi_objective_aggregation": ("sum_then_normalize", "normalize_then_sum"),
    "f_divergence_type": ("reverse_kl", "forward_kl", "js_divergence", "alpha_divergence"),
    "vllm_importance_sampling_mode": ("token_truncate", "token_mask", "sequence_truncate", "sequence_mask"),
    "distillation_mode": ("sampled_token", "topk_logits", "full_logits"),
    "teacher_model_kind": ("base", "live", "ema"),
}


# Options that count something, of which there is one at least.
COUNTS = (
    *("per_device_train_batch_size", "gradient_accumulation_steps", "steps_per_generation", "num_generations"),
    "num_iterations",
)


def refuse_no_count(**given: Any) -> None:
    """Raise for a number of rows, micro-batches, steps or completions that is none.

    Args:
        given: arguments of a trainer, by name.

    Raises:
        ValueError: one of COUNTS is no whole number above 0.
    """
    for name in COUNTS:
        number = given.get(name, 1)
        if isinstance(number, bool) or not hasattr(number, "__index__") or number < 1:
            said = {"per_device_train_batch_size": "micro_batch"}.get(name, name)
            raise ValueError(f"{said}={number!r}: give a whole number, 1 or more")


def per_generation(micro_batch: int, arguments: dict[str, Any]) -> int:
    """Rows that a trainer takes at once: for a generation or, where it has none of its own, for an optimizer step.

    Args:
        arguments: of the trainer, by name.

    Raises:
        ValueError: as ``refuse_no_count``.
    """
    refuse_no_count(per_device_train_batch_size=micro_batch, **arguments)
    steps: int = arguments.get("steps_per_generation", arguments.get("gradient_accumulation_steps", 1))
    return micro_batch * steps


def refuse_unknown_choices(config: Any, given: dict[str, Any]) -> None:
    """Raise for a word that none of the choices of an option is.

    Args:
        config: class of a trainer's arguments; given: some of these, by name.

    Raises:
        ValueError: there is such a word.
    """
    for name, known in CHOICES.items():
        # A class that does not know the option says so itself.
        if name in given and name in config.__dataclass_fields__ and given[name] not in known:
            choice = ", ".join(str(value) for value in known)
            raise ValueError(
                f"trl {version('trl')}: {config.__name__} has no {name}={given[name]!r}: give one of {choice}"
            )


def refuse_unknown_loss(config: Any, asked: Any) -> None:
    """Raise for a loss that a trainer has no formula for.

    Args:
        config: class of its arguments.
        asked: loss_type, a name or a list of them; None where it is left to the trainer.

    Raises:
        ValueError: there is such a loss.
    """
    known = LOSSES.get(config.__name__)
    if known is None or asked is None:
        return
    for name in [asked] if isinstance(asked, str) else asked:
        if name not in known:
            trainer = config.__name__.replace("Config", "Trainer")
            choice = f"give one of {', '.join(known)}" if known else "it looks at none, leave it out"
            raise ValueError(f"trl {version('trl')}: {trainer} has no loss_type={name!r}: {choice}")


def refuse_missing(model: Any, name: str) -> None:
    """Raise when a model that a loss compares with was not given.

    Args:
        name: of the argument, "reference" or "teacher".

    Raises:
        ValueError: it is None.
    """
    if model is None:
        raise ValueError(f"{name}=None, but this loss compares with a {name}: give a model of the same shape")


def refuse_unknown_words(rows: Iterable[Sequence[int]], model: Any) -> None:
    """Raise for ids that the model has no row of its embedding for.

    Raises:
        ValueError: there is one.
    """
    size = model.config.vocab_size
    for row in rows:
        strange = [i for i in row if not 0 <= i < size]
        if strange:
            raise ValueError(
                f"the row {list(row)} holds the id {strange[0]}, but the model knows 0 to {size - 1}: give its own"
            )


def refuse_part_of_generation(rows: int, generation: int) -> None:
    """Raise when some rows would be dropped since they do not fill a generation.

    Args:
        rows: completions that are given.
        generation: completions that the trainer has generated at once.

    Raises:
        ValueError: the last generation is not full, or there is none.
    """
    if rows % generation or not rows:
        raise ValueError(
            f"{rows} completions do not fill generations of {generation}, and the trainer drops what is left over: "
            "give a multiple of micro_batch x steps_per_generation"
        )


def refuse_half(trainer: Any) -> None:
    """Raise for a trainer in bfloat16 that is read at the hidden states.

    Raises:
        ValueError: it is.
    """
    if trainer.args.bf16:
        raise ValueError(
            f"bf16=True, but {type(trainer).__name__} is read at the final hidden states, where bfloat16 hides a "
            "hundredth of a weight: leave it out"
        )
