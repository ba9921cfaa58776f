"""What a run sets differently from the defaults of its trainer and of its optimizers."""

import dataclasses
import enum
import inspect
from typing import Any, NamedTuple

import torch


class Change(NamedTuple):
    """A setting as it is, and its default."""

    value: Any
    default: Any


def changes(trainer: Any, optimizers: list[Any]) -> dict[str, Change]:
    """Settings by name, those of an optimizer with its class in front."""
    found = changed_arguments(getattr(trainer, "args", None))
    for optimizer in optimizers:
        kind = type(optimizer)
        known = inspect.signature(kind.__init__).parameters
        for name in known:
            default = known[name].default
            set_to = [plain(group[name]) for group in optimizer.param_groups if name in group]
            values = list(dict.fromkeys(map(str, set_to)))
            if set_to and default is not inspect.Parameter.empty and values != [str(plain(default))]:
                # Groups that differ, as one without weight decay for norms, are told side by side.
                value = set_to[0] if len(values) == 1 else ", ".join(values)
                found[f"{kind.__name__}.{name}"] = Change(value, plain(default))
    return found


def changed_arguments(args: Any) -> dict[str, Change]:
    """Fields of a dataclass of arguments that are not at their default; places and what belongs to an account apart."""
    if not dataclasses.is_dataclass(args):
        return {}
    apart = ("output_dir", "logging_dir", "run_name", "disable_tqdm", "report_to", "hub_", "push_to_hub")
    found = {}
    for field in dataclasses.fields(args):
        default = field.default
        if field.default_factory is not dataclasses.MISSING:
            default = field.default_factory()
        value = getattr(args, field.name, None)
        if field.name.startswith(apart) or not is_plain(value) or not is_plain(default):
            continue
        # Empty ones are alike: None is made False, or an empty list, when the arguments are checked.
        if plain(value) != plain(default) and (value or default):
            found[field.name] = Change(plain(value), plain(default))
    return found


def is_plain(value: Any) -> bool:
    """Whether a value can be told in a word; a dict may hold what is to be told to nobody, such as a token."""
    return value is None or isinstance(value, (bool, int, float, str, list, tuple, enum.Enum))


def plain(value: Any) -> Any:
    """The value of an enum, the number in a tensor; lists for tuples."""
    if isinstance(value, enum.Enum):
        return value.value
    if isinstance(value, torch.Tensor):
        return value.item() if value.numel() == 1 else value.tolist()
    return list(value) if isinstance(value, tuple) else value
