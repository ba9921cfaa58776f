"""A tiny model of any architecture, from its own config class and one table of sizes."""

import tomllib
from importlib.resources import files
from typing import Any

import torch
from transformers import CONFIG_MAPPING

from .heads import CAUSAL, HEADS, NEXT, auto_class


class Subject:
    """One architecture with a head, and the models of it that the checks share; none may change a shared one."""

    def __init__(self, name: str, head: str = CAUSAL) -> None:
        self.name, self.head = name, head
        self.config_arguments = tiny_arguments(name, head)
        refuse_large(self.config(), head)
        self.answered: dict[Any, Any] = {}
        self._kept: dict[str, Any] = {}
        self.kind = type(self.model()).__name__

    def config(self) -> Any:
        """A new config."""
        return CONFIG_MAPPING[self.name](**self.config_arguments)

    def model(self, attention: str = "") -> Any:
        """The model with this implementation of attention; with what transformers chooses when left out."""
        if attention not in self._kept:
            self._kept[attention] = build(self.config(), self.head, attention)
        return self._kept[attention]

    def fresh(self) -> Any:
        """A model of the same weights that a check may train."""
        return build(self.config(), self.head)

    def supports(self, attention: str) -> bool:
        """Whether the model's class says that it has this implementation."""
        return attention == "eager" or bool(getattr(self.model(), f"_supports_{attention}", False))


def build(config: Any, head: str = CAUSAL, attention: str = "", scale: float = 3.0, seed: int = 0) -> Any:
    """A model of seeded weights in training mode, all of them times `scale`: as drawn, a tiny one hardly attends."""
    chosen = {"attn_implementation": attention} if attention else {}
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        model = auto_class(head).from_config(config, **chosen).float()
    for parameter in model.parameters():
        parameter.data.mul_(scale)
    return model.train()


def refuse_large(config: Any, head: str = CAUSAL, limit: int = 3_000_000) -> None:
    """Raise when the model would have more than so many parameters."""
    with torch.device("meta"):
        parameters = dict(auto_class(head).from_config(config).named_parameters())
    count = sum(p.numel() for p in parameters.values())
    if count > limit:
        largest = max(parameters, key=lambda n: parameters[n].numel())
        shape = list(parameters[largest].shape)
        raise ValueError(
            f"{type(config).__name__} makes a model of {count} parameters, {largest} of shape {shape} the largest: "
            "give its size in instrument/atlas/sizes.toml"
        )


def tiny_arguments(name: str, head: str = CAUSAL) -> dict[str, Any]:
    """The arguments of an architecture's config class that make it tiny."""
    table = tomllib.loads(files(__package__).joinpath("sizes.toml").read_text())
    if HEADS[head].scores != NEXT:
        table["sizes"]["is_decoder"] = False
    return arguments_for(CONFIG_MAPPING[name](), table, table["architectures"].get(name, {})) | HEADS[head].config


def arguments_for(default: Any, table: dict[str, Any], own: dict[str, Any]) -> dict[str, Any]:
    """As tiny_arguments, from a config with all its defaults; sub-configs are made tiny in the same way."""
    kind = type(default)
    names = {key: kind.attribute_map.get(key, key) for key in (*vars(default), *kind.attribute_map)}
    # Releases before 4.46 do not name the configs inside a config.
    subs = getattr(kind, "sub_configs", vars(default))
    parts = {key: getattr(default, key) for key in subs if hasattr(getattr(default, key, None), "to_dict")}
    given: dict[str, Any] = {key: 0.0 for key, value in vars(default).items() if is_dropout(key, value)}
    for group in (table["sizes"], *(table["fields"][key] for key in table["fields"] if key in names)):
        given |= {names[key]: value for key, value in group.items() if key in names and key not in parts}
    given |= layer_kinds(default, names)
    for key, part in parts.items():
        given[key] = {**arguments_for(part, table, own.get(key, {})), "model_type": part.model_type}
    return given | {key: value for key, value in own.items() if key not in parts}


def is_dropout(key: str, value: Any) -> bool:
    """Whether a field of a config is the rate of a dropout."""
    return isinstance(value, float) and ("drop" in key or key == "moe_jitter_eps")


def layer_kinds(default: Any, names: dict[str, str]) -> dict[str, Any]:
    """One layer of each kind that the architecture has, two at least."""
    lists = {}
    for key in ("layer_types", "mlp_layer_types"):
        kinds = list(dict.fromkeys(getattr(default, names.get(key, key), None) or ()))
        if kinds and names.get(key) in vars(default):
            lists[names[key]] = kinds
    if not lists:
        return {}
    layers = max(2, *(len(kinds) for kinds in lists.values()))
    chosen: dict[str, Any] = {key: [kinds[i % len(kinds)] for i in range(layers)] for key, kinds in lists.items()}
    if "num_hidden_layers" in names:
        chosen[names["num_hidden_layers"]] = layers
    return chosen
