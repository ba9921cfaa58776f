"""Trainers of trl.experimental that learn from a teacher: judged on the script's own batches, or told why not."""

import json

import pytest
from accelerate import Accelerator

from faults import CATALOGUE, planted
from tests.instrument.scripts import EXAMPLES, run, script

# What these scripts do is theirs, as in a process of their own: libraries warn of their own names.
pytestmark = [pytest.mark.filterwarnings("default"), pytest.mark.usefixtures("fresh_accelerate")]

# Each a place of the example and what stands there instead.
SAMPLED = ("distillation_topk=5", 'distillation_mode="sampled_token", distillation_alpha=1.0')
JSD = ("IWOPDConfig(**settings", 'IWOPDConfig(**settings, distillation_objective="jsd", lmbda=0.0')
ONE = ('"gradient_accumulation_steps": 2', '"gradient_accumulation_steps": 1')
WRONG = "    trainer.train()"


def edited(*changes):
    text = (EXAMPLES / "distillation.py").read_text()
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    return text


def told(tmp_path, trainer, *changes, stop=True):
    words = ["--stop"] * stop
    result = run(*words, "--json", tmp_path / "run.json", script(edited(*changes)), "--trainer", trainer)
    return {**json.loads((tmp_path / "run.json").read_text()), "exit": result.exit_code, "heard": result.stderr}


@pytest.mark.parametrize(
    "changes", [[], [("distillation_topk=5", "distillation_mode='topk_logits', distillation_topk=5")]]
)
def test_a_student_that_teaches_itself_weighs_what_sdpo_documents(changes, tmp_path):
    """Of its four rows one has no success to learn from, and is counted all the same."""
    found = told(tmp_path, "sdpo", *changes)

    assert found["said"].startswith("OK: every token weighs what SDPOTrainer documents")
    assert found["said"].endswith("per-sequence mean over all rows, w = 1/(B n_b)")
    assert 0 in [sum(row["scored"]) for row in found["windows"][0]["rows"]]


def test_a_student_weighs_what_sdft_documents_at_the_sampled_tokens(tmp_path):
    found = told(tmp_path, "sdft", SAMPLED)

    assert found["said"].startswith(
        "OK: every token weighs what SDFTTrainer documents, at the sampled tokens, by what its teacher says: "
    )


@pytest.mark.parametrize(
    ("trainer", "changes"),
    [("sdft", [SAMPLED]), ("sdpo", []), ("sdpo", [("distillation_topk=5", "distillation_topk=3")])],
)
def test_a_loss_that_is_a_twentieth_too_large_is_named(trainer, changes, tmp_path, monkeypatch):
    backward = Accelerator.backward
    monkeypatch.setattr(Accelerator, "backward", lambda self, loss, **more: backward(self, loss * 1.05, **more))

    found = told(tmp_path, trainer, *changes)

    assert found["code"] in ("scaled", "unknown-formula")
    assert 1 == found["exit"]


def test_iw_opd_divides_by_what_it_does_not_train_on(tmp_path):
    """It counts the written answers, and those of the window again for each micro-batch; see docs/findings.md."""
    found = told(tmp_path, "iw_opd")

    assert "scaled" == found["code"]
    assert any("the trainer divides by its num_items_in_batch" in finding["said"] for finding in found["findings"])
    assert "other-divergence" not in [finding["code"] for finding in found["findings"]]


@pytest.mark.parametrize(
    ("changes", "name"),
    [
        ([(WRONG, f"    trainer.iw_opd_gamma = 0.0\n{WRONG}")], "IW-OPD at the sampled tokens with gamma = 0.5"),
        ([(WRONG, f"    trainer.temperature = 2.0\n{WRONG}")], "IW-OPD at the sampled tokens with gamma = 0.5"),
        ([JSD, (WRONG, f"    trainer.beta = 0.25\n{WRONG}")], "the divergence with beta"),
    ],
)
def test_a_loss_that_is_not_the_configured_one_is_named(changes, name, tmp_path):
    found = told(tmp_path, "iw_opd", *changes)

    assert found["code"] in ("other-divergence", "unknown-formula")
    assert 1 == found["exit"]
    assert name in found["read_at"]


def test_a_planted_fault_of_iw_opd_is_named(tmp_path):
    with planted(CATALOGUE["teacher_scores_one_late"]) as hits:
        found = told(tmp_path, "iw_opd")

    assert hits.count
    assert "unknown-formula" == found["code"]


@pytest.mark.parametrize(
    "options", ["beta=0.25", "beta=0.0, loss_top_k=3, loss_add_tail=False", "beta=1.0, loss_top_k=1"]
)
def test_the_divergence_of_iw_opd_is_judged_over_its_words(options, tmp_path):
    """With one micro-batch and written answers, what is counted is what is trained on."""
    found = told(tmp_path, "iw_opd", JSD, ONE, ("IWOPDConfig(**settings", f"IWOPDConfig(**settings, {options}"))

    assert found["said"].startswith("OK: every token weighs what IWOPDTrainer documents, in the divergence from its")


TO_GOLD = """
from trl.experimental.gold import GOLDConfig as GKDConfig
from trl.experimental.gold import GOLDTrainer as GKDTrainer
"""
BY_BYTES = """
def with_bytes(tokenizer):
    from tokenizers import decoders

    tokenizer.decoder = decoders.ByteLevel()
    return tokenizer


def at_home(model, tokenizer):
    for each in (model, tokenizer):
        each.save_pretrained("out/teacher")
    return LlamaForCausalLM.from_pretrained("out/teacher")


def build_model"""
WORDS = 'models.WordLevel({word: i for i, word in enumerate(names)}, unk_token="<unk>")'
HERE = "            teacher_model=teacher,\n            args=GKD"
# GOLD takes tokenizers of bytes only.
GOLD = [
    ("from trl.experimental.gkd import GKDConfig, GKDTrainer", TO_GOLD.strip()),
    (
        'models.WordLevel({word: i for i, word in enumerate(names)}, unk_token="<unk>")',
        "models.BPE(WORDS_AND_BYTES, [])",
    ),
    ("WORDS_AND_BYTES", "{w: i for i, w in enumerate(dict.fromkeys([*names, *pre_tokenizers.ByteLevel.alphabet()]))}"),
    ("pre_tokenizers.WhitespaceSplit()", "pre_tokenizers.ByteLevel(add_prefix_space=False)"),
    ("tokenizer_object=tokenizer,", "tokenizer_object=with_bytes(tokenizer),"),
    ("def build_model", BY_BYTES.strip()),
    (HERE, HERE.replace("=teacher", "=at_home(teacher, tokenizer)")),
]


@pytest.mark.parametrize(
    ("changes", "verdict"),
    [([ONE], "OK: every token weighs what GOLDTrainer"), ([], "FAULT [divided-twice]")],
)
def test_gold_is_judged_within_one_vocabulary(changes, verdict, tmp_path):
    """It counts the rows of a window once more for each of its micro-batches; see docs/findings.md."""
    assert told(tmp_path, "gkd", *GOLD, *changes)["said"].startswith(verdict)


def given(config, options):
    return f"{config}(**settings", f"{config}(**settings, {options}"


@pytest.mark.parametrize(
    ("trainer", "changes", "said"),
    [
        (
            "gkd",
            [*GOLD, given("GKDConfig", "use_uld_loss=True, teacher_tokenizer_name_or_path='out/teacher'")],
            "use_uld_loss=True compares groups of tokens across two tokenizers",
        ),
        (
            "sdpo",
            [given("SDPOConfig", "distillation_weight=0.5")],
            "distillation_weight=0.5 mixes the teacher with a policy's reward",
        ),
        (
            "iw_opd",
            [JSD, given("IWOPDConfig", "beta=0.5, loss_top_k=3")],
            "loss_top_k=3 with beta=0.5: a union of words that has no units here",
        ),
        (
            "iw_opd",
            [JSD, given("IWOPDConfig", "beta=0.5, loss_top_k=1, reverse_kl_top_1_mode='argmax'")],
            "reverse_kl_top_1_mode='argmax': words that have no units here",
        ),
    ],
    ids=["across tokenizers", "mixed", "union", "argmax"],
)
def test_what_has_no_units_is_not_judged_and_says_why(trainer, changes, said, tmp_path):
    found = told(tmp_path, trainer, *changes)

    assert "NOT JUDGED" == found["verdict"], found["heard"]
    assert said in found["said"]
    assert [] == [finding for finding in found["findings"] if finding["level"] != "note"]
    assert 0 == found["exit"]


SERVED = """
from instrument.loops.{name}_distillation import run_{name}_distillation
from instrument.tiny import tiny_policy
from instrument.trl_rows import VOCABULARY
answers = [((3, 4), (5, 6, 7)), ((9,), (10, 11)), ((12, 13), (14, 15, 16)), ((17,), (18, 19))]
run_{name}_distillation(
    tiny_policy(VOCABULARY), tiny_policy(VOCABULARY, 1), answers, micro_batch=1, gradient_accumulation_steps=2
)
"""


@pytest.mark.parametrize("name", ["server", "async"])
def test_a_teacher_behind_a_server_is_not_judged_and_says_why(name, tmp_path):
    result = run("--json", tmp_path / "run.json", script(SERVED.format(name=name)))

    found = json.loads((tmp_path / "run.json").read_text())
    assert "NOT JUDGED" == found["verdict"], result.stderr
    assert (
        f"the loss of {name.title()}DistillationTrainer is not compared: its teacher runs in another program"
        in found["said"]
    )
    assert 2 == len(found["windows"])


def test_a_window_that_teaches_nothing_is_no_verdict(tmp_path):
    """No completion succeeds, so SDPO has nothing to show to anybody."""
    found = told(tmp_path, "sdpo", ("> 5) for text", "> 99) for text"))

    assert "NO VERDICT" == found["verdict"]
    assert "no target of window 0 is scored" in found["said"]
