"""Where to read a user's model: the module that gives the final hidden states, and the head behind it."""

from collections.abc import Callable
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from .forward import hidden_states
from .live import LinearHead, OnlySlice, ReplayedHead, multiplies, restore
from .refusals import refuse_compiled

Head = LinearHead | ReplayedHead


class Place(NamedTuple):
    """Where to read.

    Attributes:
        root: the module that is called with token ids and, as a rule, labels.
        read_point: the module whose output is the final hidden states.
        where: its name, for people.
        recognise: builds the head from the first output of the read point.
    """

    root: nn.Module
    read_point: nn.Module
    where: str
    recognise: Callable[[Any], Head]


def locate(model: nn.Module, read_point: nn.Module | str | None = None, head: Any = None) -> Place:
    """Find the read point and the head of a model.

    Causal models of transformers and PEFT wrappers of them need no help. Any other module needs both arguments.

    Args:
        model: the user's model, wrapped or not.
        read_point: the module whose output feeds the head, or its name in `model.named_modules()`.
        head: from hidden states [b, n, h] to logits [b, n, v]: a module, its name, or any function.

    Raises:
        ValueError: nothing to read was found, only one of the two was given, or the model or a wrapper of it is
            compiled.
        LookupError: the model has no module of that name.
    """
    if not isinstance(model, nn.Module):
        raise ValueError(f"watch was given {model!r}: it watches a torch.nn.Module, the model that is trained")
    refuse_compiled(model)
    if (read_point is None) != (head is None):
        given, missing = ("read_point", "head") if head is None else ("head", "read_point")
        raise ValueError(f"{given}= was given without {missing}=: a read point and the head behind it go together")
    if read_point is not None:
        place, run = named(model, read_point), named(model, head)
        name = read_point if isinstance(read_point, str) else type(place).__name__
        return Place(model, place, f"the output of {name}", lambda output: given_head(run, output))
    refuse_prompt_learning(model)
    causal: Any = unwrapped(model)
    base = getattr(causal, "base_model", causal)
    embeddings = getattr(causal, "get_output_embeddings", lambda: None)()
    if base is causal or embeddings is None or not next_token_loss(causal):
        raise ValueError(
            f"{type(model).__name__} is no causal model of transformers, no classifier of rows or tokens, masked "
            "language model, multiple choice or encoder-decoder, and no PEFT wrapper of one: if it predicts the next "
            "token, pass read_point= (the module whose output feeds the head, or its name) and head= (a module, its "
            "name, or a function from hidden states to logits)"
        )
    decoder = getattr(causal, "get_decoder", lambda: base)()
    # Some heads call the decoder inside their base model and pass the base model by.
    base = base if decoder is causal else decoder
    name = next(name for name, module in causal.named_modules() if module is base)
    where = f"the final hidden states ({type(causal).__name__}.{name})"
    return Place(causal, base, where, lambda output: recognise_head(causal, base, embeddings, output))


def named(model: nn.Module, thing: Any) -> Any:
    """The module of that name, or the thing itself."""
    if not isinstance(thing, str):
        return thing
    modules = dict(model.named_modules())
    if thing not in modules:
        raise LookupError(
            f"{type(model).__name__} has no module {thing!r}; it has {', '.join(list(modules)[1:12])} ..."
        )
    return modules[thing]


def unwrapped(model: Any) -> nn.Module:
    """The causal model inside data-parallel and PEFT wrappers."""
    while isinstance(model, (nn.DataParallel, nn.parallel.DistributedDataParallel)):
        model = model.module
    return model.get_base_model() if hasattr(model, "get_base_model") else model


def next_token_loss(causal: Any) -> bool:
    """Whether the model's own loss scores the next token; transformers tells by the kind of loss that a class names."""
    kind = getattr(causal, "loss_type", None)
    return not causal.config.is_encoder_decoder and (kind is None or "CausalLM" in kind or "Conditional" in kind)


def refuse_prompt_learning(model: Any) -> None:
    """Raise for PEFT's prompt learning, which feeds positions that are no tokens."""
    config = getattr(model, "active_peft_config", None)
    if getattr(config, "is_prompt_learning", False):
        raise ValueError(
            f"{type(config).__name__} puts learned positions before the tokens, which have no ids, and cannot be "
            "watched yet: watch a model with LoRA or with full fine-tuning"
        )


def given_head(run: Any, output: Any) -> Head:
    """The head that the user named."""
    if multiplies(run):
        return LinearHead(run)
    hidden_1nh = hidden_states(output)[:1, :1]
    with torch.no_grad():
        logits = run(hidden_1nh)
    if not (isinstance(logits, Tensor) and logits.dim() == 3):
        raise ValueError(
            f"head= returned {type(logits).__name__} for hidden states of shape {list(hidden_1nh.shape)}: "
            "it must return logits of shape [batch, tokens, vocabulary]"
        )
    return ReplayedHead(run, logits.shape[-1], None)


def recognise_head(causal: nn.Module, base: nn.Module, embeddings: nn.Module, output: Any) -> Head:
    """Find out by running it what the head of a transformers model does: W h, an element-wise rest behind it, or more.

    It is tried on drawn hidden states, since those at hand may be zero (padding is), and on large ones too, since a
    soft-cap is near the identity on small logits.
    """
    run = Replay(causal, base, output)
    hidden = hidden_states(output)
    drawn = torch.randn(1, 4, hidden.shape[-1], generator=torch.Generator().manual_seed(0)).to(hidden)
    trials = [drawn, 100 * drawn]
    with torch.no_grad():
        logits = [run(h) for h in trials]
        vocabulary = logits[0].shape[-1]
        if multiplies(embeddings) and embeddings.out_features == vocabulary:
            fits = embeddings.in_features == hidden.shape[-1]
            if fits and all(same(z, embeddings(h)) for z, h in zip(logits, trials)):
                return LinearHead(embeddings)
            if all(same(z, halves(run, embeddings, h, vocabulary)) for z, h in zip(logits, trials)):
                return ReplayedHead(run, vocabulary, embeddings)
    return ReplayedHead(run, vocabulary, None)


def halves(run: Callable[[Tensor], Tensor], matrix: nn.Linear, hidden_1nh: Tensor, vocabulary: int) -> Tensor:
    """Logits put together from two slices of the vocabulary; empty where the head cannot be run on a slice."""
    parts = []
    for start, stop in ((0, vocabulary // 2), (vocabulary // 2, vocabulary)):
        with OnlySlice(matrix, start, stop):
            try:
                parts.append(run(hidden_1nh))
            # What is behind the matrix counts on the whole vocabulary: a bias, a mask of some ids.
            except (IndexError, RuntimeError):
                return hidden_1nh[:0]
    return torch.cat(parts, -1)


def same(a: Tensor, b: Tensor) -> bool:
    """Equal but for the rounding of two orders of summation."""
    return a.shape == b.shape and bool((a - b).abs().max() <= 64 * torch.finfo(a.dtype).eps * a.abs().max())


class Replay:
    """The head of a transformers model: its own forward, with the base model's output replaced."""

    def __init__(self, causal: nn.Module, base: nn.Module, output: Any) -> None:
        self.causal, self.base, self.kind = causal, base, type(output)

    def __call__(self, hidden_1nh: Tensor) -> Tensor:
        """Logits [1, n, v] of hidden states [1, n, h]."""
        made = (hidden_1nh,) if self.kind is tuple else self.kind(last_hidden_state=hidden_1nh)
        ids = torch.zeros(hidden_1nh.shape[:2], dtype=torch.long, device=hidden_1nh.device)
        kept = self.base.__dict__.get("forward")
        self.base.forward = lambda *args, **kwargs: made
        try:
            # The class's own forward: an instance may carry a fused one that returns no logits.
            return type(self.causal).forward(self.causal, input_ids=ids, use_cache=False, return_dict=True).logits
        finally:
            restore(self.base, kept)
