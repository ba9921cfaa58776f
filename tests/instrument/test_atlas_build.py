"""Any architecture is built tiny from one table: no dropout, a layer of each kind, seeded weights."""

import tomllib
from importlib.resources import files

import pytest
import torch

from instrument.atlas.build import Subject, refuse_large, tiny_arguments
from instrument.atlas.heads import HEADS, architectures


def test_every_architecture_in_the_table_is_registered():
    table = tomllib.loads(files("instrument.atlas").joinpath("sizes.toml").read_text())

    registered = {name for head in HEADS for name in architectures(head)}
    assert [] == [name for name in table["architectures"] if name not in registered]


def test_no_dropout_is_left():
    config = Subject("bert").config()

    rates = {name: value for name, value in vars(config).items() if "dropout" in name and value is not None}
    assert {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0} == rates


def test_a_hybrid_has_a_layer_of_each_kind():
    given = tiny_arguments("lfm3")

    assert ["conv", "full_attention", "sliding_attention"] == given["layer_types"]
    assert 3 == given["num_hidden_layers"]


def test_sizes_are_given_by_the_names_that_a_config_knows():
    given = tiny_arguments("gpt2")

    assert [32, 2, 4] == [given["n_embd"], given["n_layer"], given["n_head"]]
    assert "hidden_size" not in given


def test_parts_of_a_config_are_made_tiny_too():
    given = tiny_arguments("gemma3")

    assert [32, 97] == [given["text_config"]["hidden_size"], given["text_config"]["vocab_size"]]
    assert 16 == given["vision_config"]["image_size"]


def test_models_of_one_architecture_are_equal_and_leave_the_random_state():
    one = Subject("llama").model()
    torch.rand(1)
    before = torch.get_rng_state()

    other = Subject("llama").fresh()

    assert all(torch.equal(a, b) for a, b in zip(one.state_dict().values(), other.state_dict().values()))
    assert torch.equal(before, torch.get_rng_state())


def test_a_model_that_stays_large_is_refused_with_its_largest_parameter():
    config = Subject("llama").config()

    with pytest.raises(ValueError, match=r"LlamaConfig makes a model of \d+ parameters, .* of shape \[") as refusal:
        refuse_large(config, limit=1000)
    assert "sizes.toml" in str(refusal.value)
