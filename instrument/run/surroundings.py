"""What stands around a model that is about to run: the trainer that calls it, its tokenizer, its precision.

It is read from the frames that lead to the call and from the script's globals; nothing is changed.
"""

import sys
from dataclasses import dataclass, field
from typing import Any

TRAINERS = ("transformers.trainer", "Trainer")


@dataclass(frozen=True)
class Surroundings:
    """What was found.

    Attributes:
        trainer: a transformers Trainer, or None.
        tokenizer: what turns ids into text, or None.
        half: dtype of the mixed precision that accelerate was asked for; empty without it.
        options: what of the trainer's arguments bears on the weights.
    """

    trainer: Any = None
    tokenizer: Any = None
    half: str = ""
    options: dict[str, Any] = field(default_factory=dict)

    def kinds(self) -> list[str]:
        """Names of the trainer's class and of those that it inherits from."""
        return [kind.__name__ for kind in type(self.trainer).__mro__] if self.trainer is not None else []


def surroundings() -> Surroundings:
    """Look around from here outwards."""
    frame: Any = sys._getframe(1)
    things: list[Any] = []
    while frame is not None:
        things += frame.f_locals.values()
        frame = frame.f_back
    things += vars(sys.modules["__main__"]).values()
    trainer = next((x for x in things if is_a(x, *TRAINERS)), None)
    tokenizer = getattr(trainer, "processing_class", None) or the_only(things)
    return Surroundings(trainer, text_part(tokenizer), mixed_precision(), options_of(trainer))


def is_a(thing: Any, module: str, name: str) -> bool:
    """Whether a thing is of a class of that name, or of one that inherits from it; nothing is imported."""
    kind = getattr(sys.modules.get(module), name, None)
    return isinstance(kind, type) and isinstance(thing, kind)


def the_only(things: list[Any]) -> Any:
    """The one tokenizer among them; None where there are several, since which one reads the rows is not known."""
    module = "transformers.tokenization_utils_base"
    found = {id(x): x for x in things if is_a(x, module, "PreTrainedTokenizerBase")}
    return next(iter(found.values())) if len(found) == 1 else None


def text_part(tokenizer: Any) -> Any:
    """The tokenizer inside a processor of several kinds of input."""
    inner = getattr(tokenizer, "tokenizer", None)
    return inner if hasattr(inner, "decode") else tokenizer if hasattr(tokenizer, "decode") else None


def mixed_precision() -> str:
    """The dtype in which accelerate's autocast runs the model; empty without one."""
    state = getattr(sys.modules.get("accelerate.state"), "AcceleratorState", None)
    asked = getattr(state, "_shared_state", {}).get("_mixed_precision") or "no"
    return {"bf16": "bfloat16", "fp16": "float16"}.get(str(asked), "")


def options_of(trainer: Any) -> dict[str, Any]:
    """Arguments of a trainer that bear on what a token weighs, where it has them."""
    names = (
        "average_tokens_across_devices",
        "assistant_only_loss",
        "beta",
        "completion_only_loss",
        "gradient_accumulation_steps",
        "label_smoothing_factor",
        "loss_type",
        "max_grad_norm",
        "packing",
        "padding_free",
        "per_device_train_batch_size",
    )
    args = getattr(trainer, "args", None)
    return {name: getattr(args, name) for name in names if hasattr(args, name)}
