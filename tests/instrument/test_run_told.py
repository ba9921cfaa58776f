"""What is told of a run: text with weights, sentences about tokens, a page that loads nothing, the meeting of ranks."""

import re

import matplotlib
import numpy as np
import pytest
import torch

from instrument.run import half
from instrument.run.finding import FAULT, NOTE, Finding
from instrument.run.heard import Heard, load, save
from instrument.run.outcome import Outcome
from instrument.run.page import page
from instrument.run.ranks import Meeting
from instrument.run.tokens import runs_of, sentences, text_of
from tests.instrument.records import a_record, a_row, a_window
from tests.instrument.scripts import EXAMPLES, LOOP, run, script


class Words:
    """A tokenizer of numbered words; 7 is the end."""

    eos_token_id, eos_token, vocab_size = 7, "</s>", 16

    def decode(self, ids, **_):
        return " ".join("</s>" if i == 7 else f"word{i}" for i in ids)


def test_neighbours_of_equal_weight_stand_in_one_run():
    row = a_row([0.0, 0.25, 0.25, 0.5], scored=[False, True, True, True])

    found = [(part.text, part.weight, part.tokens) for part in runs_of(row, 4, Words())]

    assert [("word3 word4", None, 2), ("word5 word6", 1.0, 2), ("</s>", 2.0, 1)] == found


def test_ids_stand_for_text_without_a_tokenizer():
    assert "<3> <4>" == text_of([3, 4], None)


def said(*rows, only=""):
    return {(found.code, found.level) for found in sentences([a_window(*rows)], Words(), only)}


def test_an_end_that_is_never_a_target_is_said():
    assert {("eos-never-trained", "warning")} == said(a_row([1, 1, 1, 0], scored=[True, True, True, False]))
    assert set() == said(a_row([1, 1, 1, 1]))


def test_an_end_that_is_one_target_among_others_is_no_matter():
    assert set() == said(a_row([1, 1, 1, 1]), a_row([1, 1, 1, 0], scored=[True, True, True, False]))


def test_a_row_without_a_target_is_said():
    assert ("nothing-trained-in-row", "warning") in said(a_row([1, 1]), a_row([0, 0], scored=[False, False]))


def test_a_prompt_is_only_missed_where_it_was_to_be_left_out():
    assert set() == said(a_row([1, 1, 1, 1]))
    assert {("prompt-trained", "fault")} == said(a_row([1, 1, 1, 1]), only="assistant_only_loss")
    assert set() == said(a_row([0, 1, 1, 1], scored=[False, True, True, True]), only="assistant_only_loss")


def outcome(*windows, **more):
    return Outcome(["train.py"], 0, right="right", record=a_record(*windows), model="Toy", **more)


def test_the_page_loads_nothing_and_escapes_what_it_shows():
    class Sly(Words):
        def decode(self, ids, **_):
            return "<script>alert(1)</script>"

    text = page(outcome(a_window(a_row([0.5, 0.5])), tokenizer=Sly()))

    assert "<script" not in text
    assert not re.search(r"(src|href)=.(http|//)", text.replace('xlink:href="#', ""))
    assert "&lt;script&gt;" in text


def test_the_page_of_64_rows_of_2048_tokens_stays_under_5_megabytes():
    draw = np.random.default_rng(0)
    # Each token has another weight, the worst case: no two neighbours can stand in one run.
    rows = [a_row(draw.uniform(0.1, 9, 2047) / 2047, ids=draw.integers(3, 16, 2048)) for _ in range(64)]

    assert len(page(outcome(a_window(*rows), tokenizer=Words())).encode()) < 5_000_000


def test_the_first_fault_is_the_verdict():
    found = [Finding("token-sum", FAULT, "a sum", (0,)), Finding("remark", NOTE, "so", (0,))]

    assert ("FAULT", "FAULT [token-sum] a sum") == (outcome(findings=found).verdict(), outcome(findings=found).line())
    assert "OK" == outcome(findings=found[1:]).verdict()
    assert "NOT JUDGED" == Outcome(["x"], 0).verdict()
    assert "NO VERDICT" == Outcome(["x"], 0, reason="why").verdict()


@pytest.fixture
def two_ranks(monkeypatch, tmp_path):
    monkeypatch.setenv("WORLD_SIZE", "2")

    def rank(number):
        monkeypatch.setenv("RANK", str(number))
        return Meeting(tmp_path)

    return rank


def test_a_rank_without_a_verdict_takes_it_from_all(two_ranks):
    first, second = two_ranks(0), two_ranks(1)
    record = a_record(a_window(a_row([1.0])))
    record.rank, record.ranks = 0, 2
    first.leave(record, "")
    second.leave(None, "it is frozen")

    assert (None, "rank 1 of 2 has no verdict: it is frozen", []) == first.gather(1)


def test_a_rank_that_never_comes_is_named(two_ranks):
    first = two_ranks(0)
    record = a_record(a_window(a_row([1.0])))
    record.rank, record.ranks = 0, 2
    first.leave(record, "")

    found, why, _ = first.gather(0.2)
    assert found is None
    assert "1 of 2 ranks handed over no record within 0.2 s, rank 1" in why


def test_what_an_earlier_run_left_is_not_read(two_ranks, tmp_path):
    (tmp_path / "rank-1.txt").write_text("from yesterday")

    two_ranks(1)

    assert not (tmp_path / "rank-1.txt").exists()


def test_what_a_rank_heard_is_read_again_and_nothing_else_is_written(tmp_path):
    written = Heard(np.ones((1, 2)), {"ref logps": np.arange(2.0)})

    save([written], tmp_path / "heard.npz")
    (read,) = load(tmp_path / "heard.npz")

    with np.load(tmp_path / "heard.npz") as tables:
        assert ["0 mask", "0 told ref logps"] == tables.files
    np.testing.assert_array_equal(read.mask, written.mask)
    assert ["ref logps"] == list(read.told)
    np.testing.assert_array_equal(read.told["ref logps"], written.told["ref logps"])


BF16 = LOOP.replace("optimizer =", "model.bfloat16()\n    optimizer =")


@pytest.mark.parametrize(
    ("text", "verdict"), [(BF16, "FAULT [mean-of-micro"), (BF16.replace("(4, 8)", "(6, 6)"), "OK")]
)
def test_a_model_in_bfloat16_is_read_behind_its_head(text, verdict):
    result = run(script(text))

    assert result.stderr.startswith(f"weighbridge: {verdict}")
    assert "read at the logits (LlamaForCausalLM)" in result.stderr


def test_autocast_is_seen():
    text = LOOP.replace("            (model(", "            with torch.autocast('cpu', torch.bfloat16): out = model(")
    text = text.replace("labels=ids).loss / 2).backward()", "labels=ids)\n            (out.loss / 2).backward()")

    assert "read at the logits" in run(script(text)).stderr
    assert "FAULT [mean-of-micro-batch-means]" in run(script(text)).stderr


def test_a_masked_log_probability_weighs_nothing():
    ids = torch.tensor([[3, 4, 5]])
    batch = {"input_ids": ids, "labels": torch.tensor([[-100, -100, 5]])}
    forward = half.describe_scored(batch, torch.zeros(1, 2), 0, "here")

    read = half.read_fused(forward, torch.tensor([[-1.0, -2.0]]), torch.tensor([[-0.5, -0.25]]))

    assert [[0.0, 0.25, 0.0]] == read["weight"].tolist()
    assert [[False, True, False]] == read["scored"].tolist()


def test_a_loss_outside_of_the_model_that_follows_no_formula_is_not_judged():
    text = LOOP.replace(
        "(model(input_ids=ids, labels=ids).loss / 2).backward()",
        "logits = model(input_ids=ids).logits[:, :-1].transpose(1, 2)\n"
        "            each = torch.nn.functional.cross_entropy(logits, ids[:, 1:], reduction='none')\n"
        "            (each * torch.rand_like(each)).mean().backward()",
    )

    result = run(script(text))

    assert result.exit_code == 0
    assert "weighbridge: NOT JUDGED: token weights follow none of" in result.stderr
    assert "the loss is computed outside of the model, so this may be meant" in result.stderr


SMOOTHED = (EXAMPLES / "classification.py").read_text().replace("use_cpu=True", "use_cpu=True, SMOOTHING")
ALIKE = "    torch.nn.init.zeros_(model.score.weight)\n    trainer = Trainer("


@pytest.mark.filterwarnings("default")
@pytest.mark.parametrize(
    ("factor", "alike", "verdict"),
    [
        (
            "0.1",
            True,
            "NOT JUDGED: the classes are two or too much alike, which hides whether it is token mean with label ",
        ),
        ("0.1", False, "OK: every target weighs the same: token mean, w = 1/N"),
        ("0.0", True, "OK: every target weighs the same: token mean, w = 1/N"),
    ],
)
def test_smoothing_of_a_classifier_is_no_fault_however_indifferent_it_is(factor, alike, verdict, fresh_accelerate):
    text = SMOOTHED.replace("SMOOTHING", f"label_smoothing_factor={factor}")
    text = text.replace("    trainer = Trainer(", ALIKE) if alike else text

    result = run("--stop", "--windows", 1, script(text), "--accumulation", 1)

    # Behind what a library says there of itself.
    own = [line for line in result.stderr.splitlines() if line.startswith("weighbridge: ")]
    assert own[0].startswith(f"weighbridge: {verdict}")
    assert 0 == result.exit_code
    assert ("label smoothing 0.1" in result.stderr) is (factor == "0.1")


def test_drawing_leaves_matplotlib_as_it_was():
    def settings():
        # By the plain dict: to read the backend otherwise would choose one.
        return {name: dict.__getitem__(matplotlib.rcParams, name) for name in matplotlib.rcParams}

    matplotlib.use("agg")
    before = settings()
    page(outcome(a_window(a_row([0.5, 0.5])), tokenizer=Words()))

    assert settings() == before


AUTOCAST = """            with torch.autocast('cpu', torch.float16):
                loss = model(input_ids=ids, labels=ids).loss / 2
            scaler.scale(loss).backward()
"""
# As fp16=True has it: parameters of float32, a forward in float16, and a loss scale.
SCALED = (
    LOOP.replace("optimizer =", "scaler = torch.amp.GradScaler('cpu', init_scale=1024.0)\n    optimizer =")
    .replace("            (model(input_ids=ids, labels=ids).loss / 2).backward()\n", AUTOCAST)
    .replace("        optimizer.step()", "        scaler.step(optimizer)\n        scaler.update()")
)
CLIPPED = (
    "scaler.unscale_(optimizer)\n        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)\n        scaler.step("
)


@pytest.mark.parametrize(
    ("text", "verdict"),
    [
        (
            SCALED.replace("(4, 8)", "(6, 6)"),
            "OK: every target weighs the same: token mean, w = 1/N, once the loss scale",
        ),
        (SCALED.replace("(4, 8)", "(6, 6)").replace("scaler.step(", CLIPPED), "OK: every target weighs the same"),
        (
            SCALED,
            "FAULT [mean-of-micro-batch-means] token weights follow the mean of micro-batch means, M = 2, loss scale ",
        ),
        (
            SCALED.replace("(4, 8)", "(6, 6)").replace(
                "scaler.step(optimizer)\n        scaler.update()", "optimizer.step()"
            ),
            "FAULT [scaled]",
        ),
    ],
    ids=["right", "clipped", "mean of means", "not undone"],
)
def test_float16_under_a_loss_scale_is_judged_once_the_scale_is_undone(text, verdict):
    result = run(script(text))

    assert result.stderr.startswith(f"weighbridge: {verdict}")
    assert "read at the logits" in result.stderr


@pytest.mark.parametrize("kind", ["bfloat16", "half"])
def test_a_clip_of_gradients_in_half_precision_is_no_fault(kind):
    clip = "torch.nn.utils.clip_grad_norm_(model.parameters(), 0.1)\n        optimizer.step()"
    text = LOOP.replace("(4, 8)", "(6, 6)").replace("optimizer =", f"model.{kind}()\n    optimizer =")

    result = run(script(text.replace("optimizer.step()", clip).replace("lr=1e-2", "lr=1e-3, eps=1e-4")))

    assert result.stderr.startswith("weighbridge: OK: every target weighs the same")
