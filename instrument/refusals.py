"""Models of which nothing could be measured: refused before anything is hooked."""

from collections.abc import Sequence
from typing import Any

from torch import nn

# What ZeRO-1 and 2, and ZeRO-3, leave on each parameter that they take over (deepspeed.utils.tensor_fragment,
# deepspeed.runtime.zero.partition_parameters).
ZERO = ("_hp_mapping", "ds_id")


def refuse_compiled(model: nn.Module) -> None:
    """Raise when hooks on this model would never fire.

    Raises:
        ValueError: the model, or a module in it, was compiled before the hooks came.
    """
    compiled = [name for name, m in model.named_modules() if m._compiled_call_impl is not None]
    if hasattr(model, "_orig_mod") or compiled:
        raise ValueError(
            f"{type(model).__name__} is compiled already, and hooks added after torch.compile never fire "
            "(pytorch issue 117758): start watching before compiling, or watch the model without compiling it"
        )


def refuse_taken_over(model: nn.Module, parameters: list[nn.Parameter]) -> None:
    """Raise when something else than the model's own parameters is stepped and holds the gradients.

    Raises:
        NotImplementedError: a wrapper has made one parameter of them, as FSDP does by default; or ZeRO steps parts of
            its own.
    """
    if any(hasattr(p, mark) for p in parameters for mark in ZERO):
        refuse_zero(type(model).__name__)
    if any(getattr(p, "_is_flat_param", False) for p in parameters):
        raise NotImplementedError(
            f"{type(model).__name__} is wrapped by FullyShardedDataParallel with use_orig_params=False, which leaves "
            "it no parameter of its own: wrap it with use_orig_params=True, or use fully_shard"
        )


def refuse_sharded_since(model: nn.Module, first: Any, optimizers: Sequence[Any]) -> None:
    """Raise when there are shards that were made after the model was watched.

    Args:
        first: what stands in the place of the first parameter that trains.

    Raises:
        NotImplementedError: there are any.
    """
    held = [first, *(p for one in optimizers for group in one.param_groups for p in group["params"])]
    if any(sharded(p) for p in held):
        raise NotImplementedError(
            f"{type(model).__name__} was sharded after it was watched with optimizer=, and other parameters, or other "
            "tensors in their place, get the gradients since: shard it first, then make the optimizer, then watch both"
        )


def refuse_layout(found: str) -> None:
    """Raise when shards are not cut along the first axis, one for each rank of the run.

    Raises:
        NotImplementedError: always.
    """
    raise NotImplementedError(
        f"a parameter is laid out as {found}: with optimizer= every rank must hold one part of it, cut along the first "
        "axis, as FULL_SHARD and SHARD_GRAD_OP of FSDP and fully_shard over a mesh of all ranks do; watch it without "
        "optimizer=, which weighs every token"
    )


def sharded(parameter: Any) -> bool:
    """Whether this rank holds a part of it only, as under FSDP."""
    return hasattr(parameter, "placements") or getattr(parameter, "_fsdp_flattened", False)


def refuse_zero(name: str) -> None:
    """Raise when DeepSpeed steps flat parts of its own.

    Raises:
        NotImplementedError: always.
    """
    raise NotImplementedError(
        f"{name} is trained by DeepSpeed's ZeRO, which keeps the gradients in flat parts of its own and steps these: "
        "no step on the model's parameters would be seen, and none of their gradients; watch the run without ZeRO, as "
        "under fully_shard, or with zero_optimization stage 0"
    )


def refuse_frozen(model: nn.Module, where: str) -> None:
    """Raise when no gradient could come, or none could be told to belong to a parameter.

    Raises:
        ValueError: none of the parameters trains.
        NotImplementedError: as refuse_taken_over.
    """
    refuse_taken_over(model, list(model.parameters()))
    if not any(p.requires_grad for p in model.parameters()):
        raise ValueError(
            f"none of the {sum(1 for _ in model.parameters())} parameters of {type(model).__name__} requires a "
            f"gradient, so nothing will come to {where}: unfreeze what should train before watching"
        )


def refuse_again(optimizer: str) -> None:
    """Raise when a step calls its closure more than once.

    Raises:
        ValueError: always.
    """
    raise ValueError(
        f"{optimizer} called the closure of its step again, with parameters that the step had changed, so the step "
        "follows several gradients and no window can be told from the next: use an optimizer that calls it once, as "
        "LBFGS does with max_iter=1"
    )


def refuse_uncalled(optimizer: str) -> None:
    """Raise when a step does not call its closure.

    Raises:
        ValueError: always.
    """
    raise ValueError(
        f"{optimizer} never called the closure of its step, so no window was ended where it was given one: call "
        "backward before a step without a closure"
    )


def refuse_early() -> None:
    """Raise when an optimizer steps inside backward.

    Raises:
        ValueError: always.
    """
    raise ValueError(
        "an optimizer stepped inside backward, so parameters change before all gradients have come: step after "
        "backward to be measured"
    )


def refuse_nothing(forwards: int, windows: int, thrown_away: int, where: str) -> None:
    """Raise when nothing was measured.

    Args:
        forwards: of the model, with gradients on.
        windows: that were measured.
        thrown_away: windows whose gradient was not finite and that no step followed.
        where: the read point.

    Raises:
        RuntimeError: no window was measured.
    """
    if windows:
        return
    if forwards == 0:
        raise RuntimeError(
            f"the model was never run with gradients on, so nothing came to {where}: "
            "call the model that was handed over, outside torch.no_grad()"
        )
    if thrown_away:
        raise RuntimeError(
            f"the gradient of each of {thrown_away} windows was not finite and no step followed, so there is nothing "
            "to weigh: watch until a loss scaler has found its scale, or look for what overflows"
        )
    raise RuntimeError(
        f"the model ran {forwards} times but no gradient came back to {where}: call "
        "loss.backward() on a loss of its output; torch.autograd.grad on parameters alone does not pass there"
    )


def refuse_unseen_change() -> None:
    """Raise when parameters change within a window.

    Raises:
        ValueError: always.
    """
    raise ValueError(
        "parameters changed between two forwards without a step of a torch optimizer on them, so no window can "
        "be told from the next: use a torch.optim optimizer on the model's own parameters"
    )
