"""What docs/findings.md says of the installed libraries and no check of the report shows."""

import pytest
import torch
from peft import LoraConfig
from transformers import GPT2Config, GPT2LMHeadModel, TrainerCallback
from trl import DPOTrainer

from instrument import tracer_rows, watch
from instrument.loops import sdft
from instrument.loops.dpo import run_dpo_averaged
from instrument.loops.scored import lora
from instrument.loops.trainer import run_trainer
from instrument.tiny import near, tiny_policy
from instrument.trl_rows import PAIRS, VOCABULARY


def test_the_trainer_counts_gpt2_targets_before_the_shift():
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        model = GPT2LMHeadModel(
            GPT2Config(vocab_size=80, n_embd=32, n_layer=2, n_head=4, bos_token_id=1, eos_token_id=2, pad_token_id=0)
        )
    rows = tracer_rows([5, 9, 3, 12, 7, 4, 10, 6])

    with watch(model) as report:
        run_trainer(model, rows, micro_batch=2, accumulation=4)

    # 48 targets in 8 rows, of which the Trainer counts each row's first token too.
    assert f"token mean times {48 / 56:.6g}" == report.verdicts[0].name


def averaged(monkeypatch, **given):
    """How DPOTrainer's policy stands when training begins, behind each step, and behind each callback of a step."""
    began, stepped, ended = [], [], []

    class Watch(TrainerCallback):
        def on_train_begin(self, args, state, control, model=None, **_):
            began.append(model.lm_head.weight.detach().clone())

        def on_optimizer_step(self, args, state, control, model=None, **_):
            stepped.append(model.lm_head.weight.detach().clone())

        def on_step_end(self, args, state, control, model=None, **_):
            ended.append(model.lm_head.weight.detach().clone())

    def __init__(self, *args, callbacks, peft_config=None, **kwargs):
        peft = given.get("peft_config", peft_config)
        original(self, *args, callbacks=[*callbacks, Watch()], peft_config=peft, **kwargs)

    original = DPOTrainer.__init__
    monkeypatch.setattr(DPOTrainer, "__init__", __init__)
    model = tiny_policy(VOCABULARY)
    run_dpo_averaged(
        model,
        PAIRS,
        reference=near(model),
        moves=None,
        average={"update_freq": 1, "ref_model_update_freq": 1, "lag": 2},
        micro_batch=2,
        learning_rate=0.1,
        precompute_ref_log_probs=given.get("precompute_ref_log_probs", False),
    )
    return began[0], stepped, ended


def test_an_average_without_a_reference_model_is_written_into_the_policy(monkeypatch):
    first, stepped, ended = averaged(monkeypatch, precompute_ref_log_probs=True)

    assert len(ended) == 3
    ema = first
    for t, (own, written) in enumerate(zip(stepped, ended), 1):
        beta, alpha = (2 + t) ** -0.5, (2 + t) ** -0.2
        ema = (1 - beta) * ema + beta * own
        torch.testing.assert_close(written, (ema + alpha * (own - first)).float().double())
        assert not torch.equal(written, own)


def test_an_average_is_written_into_no_policy_where_there_is_a_reference_model(monkeypatch):
    _, stepped, ended = averaged(monkeypatch)

    assert all(torch.equal(own, written) for own, written in zip(stepped, ended, strict=True))


def test_an_adapter_cannot_be_averaged(monkeypatch):
    with pytest.raises(TypeError, match="missing 1 required positional argument: 'peft_config'"):
        averaged(monkeypatch, peft_config=lora(("q_proj",)))


@pytest.mark.parametrize("rate", [0.5, 0.05])
def test_the_averaged_teacher_of_an_adapter_is_the_product_of_two_averages(rate, monkeypatch):
    trainers = []
    monkeypatch.setattr(sdft, "teach", lambda trainer, *_: trainers.append(trainer) or trainer.train())
    told = [((3,), (3, 1), (4, 5, 2)), ((6, 7), (6, 7, 1), (8, 2))]
    asked = {"teacher_model_kind": "ema", "teacher_update_rate": rate, "teacher_sync_steps": 1, "distillation_topk": 5}
    student = tiny_policy(VOCABULARY)

    adapter = LoraConfig(r=4, target_modules=["down_proj"], task_type="CAUSAL_LM")
    sdft.run_sdft(student, told, peft=adapter, micro_batch=2, learning_rate=0.5, **asked)

    (trainer,) = trainers
    layers = [module for module in trainer.model.modules() if "teacher" in getattr(module, "lora_A", {})]
    assert layers
    for layer in layers:
        averaged, learned = (layer.lora_B[name].weight @ layer.lora_A[name].weight for name in ("teacher", "default"))
        assert learned.any()
        torch.testing.assert_close(averaged, rate**2 * learned)
