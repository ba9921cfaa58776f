"""A learning-rate schedule that moves on for each micro-batch is told, by where it stands when the script ends."""

import json

import pytest
import torch
from torch.optim import lr_scheduler

from instrument.run.schedules import Schedules
from tests.instrument.scripts import LOOP, alone, run, script

# The loop makes 4 steps of 2 micro-batches each.
LINEAR = "transformers.get_linear_schedule_with_warmup(optimizer, 1, {length})"
COSINE = "torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max={length})"
IN_TURN = (
    "torch.optim.lr_scheduler.SequentialLR(optimizer, [torch.optim.lr_scheduler.ConstantLR(optimizer), {cosine}], [1])"
)
EACH_STEP = "        optimizer.step()\n        schedule.step()\n"
# As most loops have it, at the end of each turn, behind the step if there is one.
EACH_TURN = """            (model(input_ids=ids, labels=ids).loss / 2).backward()
            if n == 8:
                optimizer.step()
                optimizer.zero_grad()
            schedule.step()
"""
BEHIND_BACKWARD = "            (model(input_ids=ids, labels=ids).loss / 2).backward()\n            schedule.step()\n"
AHEAD = "moves on for each micro-batch, 2 times for one optimizer step, so warm-up and decay are over 2 times as early"
pytestmark = pytest.mark.filterwarnings("ignore:Detected call of `lr_scheduler.step\\(\\)` before")


def text_of(made, moves, length):
    made = made.format(length=length, cosine=COSINE.format(length=length))
    text = LOOP.replace("    for step in", f"    import transformers\n    schedule = {made}\n    for step in")
    text = text.replace("(4, 8)", "(6, 8)")
    backward = BEHIND_BACKWARD.partition("\n")[0] + "\n"
    step = "        optimizer.step()\n        optimizer.zero_grad()\n"
    if moves == EACH_STEP:
        return text.replace("        optimizer.step()\n", moves)
    return text.replace(backward, moves).replace(step, "") if moves == EACH_TURN else text.replace(backward, moves)


def told(tmp_path, text, *words):
    result = run("--json", tmp_path / "run.json", "--fail-on", "none", *words, script(text))
    assert all(check["held"] for check in json.loads((tmp_path / "run.json").read_text())["certificate"]["checks"])
    found = json.loads((tmp_path / "run.json").read_text())["findings"]
    return result, [(one["level"], one["said"]) for one in found if one["code"] == "schedule-runs-ahead"]


@pytest.mark.parametrize("made", [LINEAR, COSINE, IN_TURN], ids=["linear", "cosine", "in turn"])
@pytest.mark.parametrize("moves", [EACH_TURN, BEHIND_BACKWARD], ids=["each turn", "behind backward"])
def test_a_schedule_that_is_over_too_early_is_a_warning(made, moves, tmp_path):
    text = text_of(made, moves, length=4 if made != IN_TURN else 3)

    result, found = told(tmp_path, text)

    ((level, said),) = found
    assert "warning" == level
    assert AHEAD in said
    assert ": it ended 8 moves on, and is 4 long" in said or made == IN_TURN
    assert alone("train.py") == result.stdout


@pytest.mark.parametrize("made", [LINEAR, COSINE], ids=["linear", "cosine"])
@pytest.mark.parametrize(
    ("moves", "length"),
    [(EACH_STEP, 4), (EACH_STEP, 3), (EACH_STEP, 1), (EACH_TURN, 8), (EACH_TURN, 7), (BEHIND_BACKWARD, 8)],
)
def test_a_schedule_whose_length_is_counted_as_it_moves_is_no_matter(made, moves, length, tmp_path):
    before = lr_scheduler.LRScheduler.__init__

    _, found = told(tmp_path, text_of(made, moves, length))

    assert [] == found
    assert before is lr_scheduler.LRScheduler.__init__


@pytest.mark.parametrize(
    ("made", "words"),
    [(LINEAR, ["--stop"]), ("torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.9)", [])],
    ids=["stopped", "without an end"],
)
def test_where_its_end_is_not_known_it_is_a_note(made, words, tmp_path):
    _, found = told(tmp_path, text_of(made, EACH_TURN, 4), *words)

    ((level, said),) = found
    assert "note" == level
    assert said.endswith(
        "as early as in one that counts optimizer steps; right where its length was counted in micro-batches"
    )


@pytest.mark.parametrize(
    "moves",
    [
        "schedule.step(step / 4)",
        "schedule.step(100 * step)",
        "schedule.load_state_dict({**schedule.state_dict(), 'last_epoch': 70})",
    ],
)
@pytest.mark.filterwarnings("ignore:The epoch parameter in `scheduler.step:UserWarning")
def test_another_count_than_micro_batches_is_its_own(moves, tmp_path):
    text = text_of(COSINE, EACH_STEP, 4).replace("        schedule.step()", f"        {moves}")

    _, found = told(tmp_path, text)

    assert [] == found


ACCELERATED = """
    import torch
    from accelerate import Accelerator
    from transformers import LlamaConfig, LlamaForCausalLM, get_linear_schedule_with_warmup

    accelerator = Accelerator(cpu=True, gradient_accumulation_steps=2)
    sizes = {"hidden_size": 16, "intermediate_size": 24, "num_hidden_layers": 1, "num_attention_heads": 2}
    model = LlamaForCausalLM(LlamaConfig(vocab_size=50, **sizes))
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    schedule = get_linear_schedule_with_warmup(optimizer, 1, 4)
    model, optimizer, PREPARED = accelerator.prepare(model, optimizer, PREPARED)
    for _ in range(8):
        with accelerator.accumulate(model):
            ids = torch.randint(3, 50, (2, 6))
            accelerator.backward(model(input_ids=ids, labels=ids).loss)
            optimizer.step()
            schedule.step()
            optimizer.zero_grad()
"""


@pytest.mark.usefixtures("fresh_accelerate")
@pytest.mark.parametrize(("prepared", "levels"), [("schedule", []), ("_", ["warning"])])
def test_what_accelerate_holds_back_moves_with_the_steps(prepared, levels, tmp_path):
    text = ACCELERATED.replace("PREPARED", prepared).replace("optimizer, _)", "optimizer, None)")

    _, found = told(tmp_path, text)

    assert levels == [level for level, _ in found]


@pytest.mark.parametrize(("ranks", "told_of"), [(1, 1), (2, 0), (3, 1)])
def test_as_many_moves_as_ranks_are_those_of_accelerate(ranks, told_of):
    schedules = Schedules()
    schedules.install()
    optimizer = torch.optim.SGD([torch.nn.Parameter(torch.ones(2))], lr=0.1)
    schedule = lr_scheduler.CosineAnnealingLR(optimizer, T_max=4)
    schedules.uninstall()

    schedules.listen([optimizer])
    for _ in range(4):
        schedule.step()
        schedule.step()
        optimizer.step()
    schedules.stop()

    assert told_of == len(schedules.findings([2, 2], ranks, whole=True))
