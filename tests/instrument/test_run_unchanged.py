"""Whether a run is what it would have been is looked at in the run itself; and what a search for leaks in it says."""

import json

import pytest
import torch

from instrument import capture
from instrument.run import leaks
from tests.instrument.scripts import LOOP, alone, run, script

FLAT = """
    import torch
    from transformers import LlamaConfig, LlamaForCausalLM

    torch.manual_seed(0)
    sizes = {"hidden_size": 16, "intermediate_size": 24, "num_hidden_layers": 1, "num_attention_heads": 2}
    model = LlamaForCausalLM(LlamaConfig(vocab_size=50, **sizes))
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-2)
    ids = torch.tensor([[3, 4, 5, 6, 7, 8, 9, 10]])
    place = torch.tensor([[0, 1, 2, 3, 0, 1, 2, 3]])
    labels = torch.where(place > 0, ids, -100)
    model(input_ids=ids, position_ids=place, labels=labels, use_cache=USE).loss.backward()
    optimizer.step()
"""


def told(tmp_path, *words, text=LOOP):
    result = run("--json", tmp_path / "run.json", "--fail-on", "none", *words, script(text))
    return result, json.loads((tmp_path / "run.json").read_text())


def test_a_run_is_certified(tmp_path):
    _, found = told(tmp_path)

    assert [True] * 5 == [check["held"] for check in found["certificate"]["checks"]]
    assert found["certificate"]["calls"] >= 4 * 4


def draws(self, forward, output, gradient):
    torch.rand(())


def writes(self, forward, output, gradient):
    gradient.mul_(1)


def writes_to_a_parameter(self, forward, output, gradient):
    next(self._model.parameters()).mul_(1)


def switches(self, forward, output, gradient):
    self._model.eval()


@pytest.mark.parametrize(
    ("act", "broken"),
    [
        (draws, "no random number drawn"),
        (writes, "nothing written"),
        (writes_to_a_parameter, "nothing written"),
        (switches, "no mode switched"),
    ],
)
def test_an_instrument_that_touches_the_run_is_told_of(tmp_path, monkeypatch, act, broken):
    arrive = capture.Capture._arrive

    def touching(self, *args):
        with torch.no_grad():
            act(self, *args)
        arrive(self, *args)

    monkeypatch.setattr(capture.Capture, "_arrive", touching)

    result, found = told(tmp_path)

    assert [broken] == [c["what"][: len(broken)] for c in found["certificate"]["checks"] if not c["held"]]
    assert f"the measurement CHANGED the run: {broken}" in result.stderr


def test_a_hook_that_stays_is_told_of(tmp_path, monkeypatch):
    leave = capture.Capture.__exit__

    def forgetful(self, *args):
        del self._hooks[0]
        leave(self, *args)

    monkeypatch.setattr(capture.Capture, "__exit__", forgetful)

    result, _ = told(tmp_path)

    assert "the measurement CHANGED the run: no hook left" in result.stderr


def test_hooks_of_the_script_are_its_own(tmp_path):
    text = LOOP.replace(
        "    for step", "    model.register_forward_hook(lambda *_: None)\n    print(model.training)\n    for step"
    )

    _, found = told(tmp_path, text=text)

    assert all(check["held"] for check in found["certificate"]["checks"])


def test_documents_that_read_each_other_are_a_fault(tmp_path):
    result, found = told(tmp_path, "--leaks", text=FLAT.replace("USE", "True"))

    assert "FAULT [leak] a document sees another: the loss of sequence 1 (row 0, tokens 4-7) depends on the tokens" in (
        result.stderr
    )
    assert [(1, 0)] == [(pair["target"], pair["source"]) for pair in found["leaks"]["pairs"]]
    assert "leak" == found["code"]


def test_documents_that_do_not_are_none(tmp_path):
    result, found = told(tmp_path, "--leaks", text=FLAT.replace("USE", "False"))

    assert "weighbridge: OK" in result.stderr
    assert "leaks: no leak: 2 sequences" in result.stderr
    assert [] == found["leaks"]["pairs"]


def test_nothing_is_searched_unasked(tmp_path):
    result, found = told(tmp_path, text=FLAT.replace("USE", "True"))

    assert "weighbridge: OK" in result.stderr
    assert found["leaks"] is None
    assert "a row holds 2 documents, and whether one sees another is asked by --leaks" == found["leaks_not_searched"]


def test_a_batch_without_labels_is_searched_with_its_tokens_for_labels(tmp_path):
    text = FLAT.replace("labels=labels, use_cache=USE).loss", "use_cache=True).logits.logsumexp(-1).mean()")

    result, found = told(tmp_path, "--leaks", text=text)

    assert 1 == len(found["leaks"]["pairs"])
    assert "each token was taken for its own label" in result.stderr


def test_a_search_leaves_the_run_bitwise_as_it_is():
    name = script(LOOP)

    assert alone(name) == run("--leaks", name).stdout


def test_a_search_that_fails_leaves_the_run_alone(tmp_path, monkeypatch):
    def fails(*_):
        raise RuntimeError("no memory is left")

    monkeypatch.setattr(leaks, "find_leaks", fails)

    result, found = told(tmp_path, "--leaks")

    assert alone(script(LOOP)) == result.stdout
    assert "no memory is left" == found["leaks_not_searched"]
    assert "leaks: not searched: no memory is left" in result.stderr


def test_a_batch_of_one_sequence_has_nothing_to_say(tmp_path):
    _, found = told(tmp_path, "--leaks", text=LOOP.replace("(2, n)", "(1, n)").replace("(4, 8)", "(2, 2)"))

    assert "a leak needs two" in found["leaks_not_searched"]


def test_an_error_of_ours_while_a_model_is_looked_at_does_not_reach_the_script(tmp_path, monkeypatch):
    def broken(*_):
        raise AttributeError("of some release")

    monkeypatch.setattr("instrument.run.attach.recorder_of", broken)

    result, found = told(tmp_path)

    assert alone("train.py") == result.stdout
    assert "NO VERDICT" in found["said"]
    assert "LlamaForCausalLM: looking at it ended in AttributeError: of some release" in found["said"]
