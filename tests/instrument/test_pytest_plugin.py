"""The plug-in for pytest, in a session of its own, as somebody else's project has it."""

import subprocess
import sys
from importlib.metadata import entry_points
from pathlib import Path
from xml.etree import ElementTree

import pytest
import torch

from instrument import make_batch, watch
from instrument.pytest_plugin import Weighbridge
from tests.instrument import models

ROOT = Path(__file__).parents[2]


@pytest.fixture
def properties():
    return {}


@pytest.fixture
def mine(properties):
    return Weighbridge(properties.__setitem__)


def mean_of_means(model, rows):
    for row in rows:
        (model(**make_batch([row])).loss / len(rows)).backward()


def token_mean(model, rows):
    model(**make_batch(rows)).loss.backward()


def test_a_right_step_passes_and_is_noted(mine, properties):
    mine.assert_token_mean(mine.xray(token_mean, [3, 5]))

    assert {"weighbridge_verdict_0": "token mean", "weighbridge_codes_0": ""} == properties


def test_a_wrong_step_fails_with_the_table_and_the_formula(mine, properties):
    report = mine.xray(mean_of_means, [3, 5])

    with pytest.raises(AssertionError, match=r"(?s)FAULT: token weights follow the mean of micro-batch means.*w\*N"):
        mine.assert_token_mean(report)
    assert "mean-of-micro-batch-means" == properties["weighbridge_codes_0"]


def test_weights_are_compared_with_given_ones(mine):
    report = mine.xray(mean_of_means, [3, 5])

    mine.assert_weights(report, [[1 / 4] * 2, [1 / 8] * 4])
    with pytest.raises(AssertionError, match="weights are off"):
        mine.assert_weights(report, [[1 / 6] * 2, [1 / 6] * 4])


def test_a_parameter_without_a_gradient_fails(mine):
    model = models.llama()
    unused = torch.nn.Parameter(torch.ones(2))
    model.register_parameter("unused", unused)
    optimizer = torch.optim.SGD([*model.parameters()])
    with watch(model) as report:
        ids = torch.arange(3, 9)[None]
        model(input_ids=ids, labels=ids).loss.backward()
        optimizer.step()

    with pytest.raises(AssertionError, match="a gradient came to 21 of 22"):
        mine.assert_reaches(report)


def test_documents_that_read_each_other_fail(mine, properties):
    ids = torch.arange(3, 11)[None]
    labels = ids.masked_fill(ids == 7, -100)
    batch = {"input_ids": ids, "labels": labels, "position_ids": torch.tensor([[0, 1, 2, 3, 0, 1, 2, 3]])}

    with pytest.raises(AssertionError, match="LEAK"):
        mine.assert_no_leak(models.llama(), batch)
    mine.assert_no_leak(models.llama(), {**batch, "use_cache": False})
    assert 0 == properties["weighbridge_leaks"]


def test_training_that_is_watched_is_the_same(mine):
    mine.assert_unchanged_training(models.llama, lambda model: token_mean(model, [[3, 4, 5]]))


def test_training_that_knows_that_it_is_watched_fails(mine):
    def train(model):
        token_mean(model, [[3, 4, 5]])
        if model._forward_pre_hooks:
            torch.rand(1)

    with pytest.raises(AssertionError, match="the random state differs"):
        mine.assert_unchanged_training(models.llama, train)


def test_the_distribution_names_the_plug_in():
    found = {point.name: point.value for point in entry_points(group="pytest11")}

    assert "instrument.pytest_plugin" == found["weighbridge"]


@pytest.mark.spawn
def test_a_project_gets_the_fixture_and_torch_is_not_imported_for_it(tmp_path):
    (tmp_path / "test_theirs.py").write_text(
        "import sys\n"
        "def test_early():\n    assert 'torch' not in sys.modules\n"
        "def test_theirs(weighbridge):\n"
        "    from instrument import make_batch\n"
        "    def step(model, rows):\n"
        "        for row in rows:\n"
        "            (model(**make_batch([row])).loss / len(rows)).backward()\n"
        "    weighbridge.assert_token_mean(weighbridge.xray(step, [3, 5]))\n"
    )
    command = [sys.executable, "-m", "pytest", "--junitxml=out.xml", "-q", "-p", "no:cacheprovider"]

    ended = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)

    told = [p.get("value") for p in ElementTree.parse(tmp_path / "out.xml").iter("property")]
    assert "1 failed, 1 passed" in ended.stdout, ended.stdout
    assert "FAULT: token weights follow the mean of micro-batch means, M = 2" in ended.stdout
    assert "mean-of-micro-batch-means" in told
