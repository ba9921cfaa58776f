"""Models of which nothing could be measured: refused before anything is hooked."""

from torch import nn


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


def refuse_flattened(model: nn.Module, parameters: list[nn.Parameter]) -> None:
    """Raise when a wrapper has made one parameter of them, whose gradient belongs to no one of the model's own.

    Raises:
        NotImplementedError: as FSDP does by default.
    """
    if any(getattr(p, "_is_flat_param", False) for p in parameters):
        raise NotImplementedError(
            f"{type(model).__name__} is wrapped by FullyShardedDataParallel with use_orig_params=False, which leaves "
            "it no parameter of its own: wrap it with use_orig_params=True, or use fully_shard"
        )


def refuse_frozen(model: nn.Module, where: str) -> None:
    """Raise when no gradient could come, or none could be told to belong to a parameter.

    Raises:
        ValueError: none of the parameters trains.
        NotImplementedError: they are flattened into one.
    """
    refuse_flattened(model, list(model.parameters()))
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
