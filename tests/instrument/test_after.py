"""What the verdict says of everything behind backward, sentence by sentence."""

import warnings

import numpy as np
import pytest
import torch

from instrument import Report, make_batch, watch
from tests.instrument import models
from tests.instrument.loops import ROWS, batches
from tests.instrument.stepped import only, scale, sgd, window


def test_a_right_window_has_four_stages_and_no_fault():
    model = models.llama()
    (verdict,) = window(model, sgd(model)).verdicts

    assert () == verdict.faults
    assert ["loss", "backward", "clip", "step"] == [line.split()[0] for line in verdict.stages]
    assert not any("FAULT" in line for line in verdict.stages)


def test_the_table_has_a_line_for_each_stage_and_names_the_first_wrong_one():
    model = models.llama()
    text = str(window(model, sgd(model), lambda: scale(model.parameters(), 2.0)))

    assert "  clip      FAULT: gradients times 2" in text
    assert "  first wrong at: clip" in text


def test_a_common_factor_below_one_is_a_clip_and_one_above_is_not():
    model = models.llama()
    (verdict,) = window(model, sgd(model), lambda: scale(model.parameters(), 0.25)).verdicts

    assert () == verdict.faults
    assert any(said.startswith("clipped from a norm of") and said.endswith("0.25") for said in verdict.remarks)
    model = models.llama()
    assert ("clip", "the gradient was multiplied by 2 between backward and the step") == only(
        window(model, sgd(model), lambda: scale(model.parameters(), 2.0))
    )


def test_a_clip_is_held_against_the_limit_that_was_told():
    model = models.llama()
    stage, fault = only(window(model, sgd(model), max_norm=0.5))

    assert "clip" == stage
    assert "clipping to 0.5 should multiply the gradient" in fault
    assert fault.endswith("and the step got it multiplied by 1")


@pytest.mark.parametrize("factor", [1.9, 7.5])
def test_a_loss_near_a_power_of_two_too_large_is_clipped_as_it_is(factor):
    """No scale was undone in front of the clip: the loss is wrong, and nothing behind it."""
    model, limit = models.llama(), 3.0

    def clip():
        torch.nn.utils.clip_grad_norm_(model.parameters(), limit)

    (verdict,) = window(model, sgd(model), clip, factor, max_norm=limit).verdicts

    assert [f"token weights follow the token mean times {factor:g}"] == [said.split(" (")[0] for said in verdict.faults]


def test_a_limit_without_an_optimizer_is_refused():
    with pytest.raises(ValueError, match=r"max_norm=0\.5 was given without optimizer="):
        watch(models.llama(), max_norm=0.5)


def test_what_is_no_optimizer_is_refused():
    with pytest.raises(ValueError, match="optimizer= was given str"):
        watch(models.llama(), "AdamW")


def test_clipping_some_of_the_parameters_is_told():
    model = models.llama()
    some = [p for p in model.parameters() if p.dim() < 2]
    stage, fault = only(window(model, sgd(model), lambda: scale(some, 0.5)))

    assert "clip" == stage
    assert fault.startswith("clipped on a partial list: the gradients of model.layers.0.input_layernorm.weight")
    assert fault.endswith("were multiplied by 0.5 before the step and those of 16 others by 1")


def test_a_gradient_that_is_bent_and_as_long_as_before_is_told():
    model = models.llama()
    weight = model.model.norm.weight
    stage, fault = only(window(model, sgd(model), lambda: weight.grad.copy_(weight.grad.flip(0))))

    assert "clip" == stage
    assert fault.startswith("the gradient was changed between backward and the step")


def test_gradients_that_are_emptied_before_the_step_are_told():
    model = models.llama()
    stage, fault = only(window(model, sgd(model), lambda: model.lm_head.weight.grad.zero_()))

    assert "clip" == stage
    assert "the gradient of lm_head.weight was emptied between backward and the step" == fault


def test_a_parameter_that_no_group_holds_is_told():
    model = models.llama()
    optimizer = torch.optim.SGD(model.model.parameters(), lr=0.1)

    assert ("step", "1 of 21 trainable parameters are in no group of the optimizer: lm_head.weight") == only(
        window(model, optimizer)
    )


def test_a_parameter_that_stands_twice_in_the_groups_is_told():
    model = models.llama()
    optimizer = sgd(model)
    optimizer.param_groups.append({**optimizer.param_groups[0], "params": [model.lm_head.weight]})
    (verdict,) = window(model, optimizer).verdicts

    assert "lm_head.weight stand in several places of the optimizer's groups" in verdict.faults
    assert any("lm_head.weight moved by 2 times what SGD prescribes" in fault for fault in verdict.faults)


def test_two_optimizers_are_given_as_a_list():
    model = models.llama()
    first, second = (torch.optim.SGD(part.parameters(), lr=0.1) for part in (model.model, model.lm_head))
    with watch(model, [first, second]) as report:
        model(**batches()[0]).loss.backward()
        first.step()
        second.step()

    assert report.ok


def test_an_optimizer_without_a_closed_form_is_not_judged_and_says_so():
    model = models.llama()
    (verdict,) = window(model, torch.optim.RMSprop(model.parameters(), lr=0.1)).verdicts

    assert () == verdict.faults
    assert "not judged: optimizer RMSprop" in verdict.remarks
    assert "not judged, optimizer RMSprop" in verdict.stages[-1]


def test_decay_on_norms_is_a_remark():
    model = models.llama()
    (verdict,) = window(model, torch.optim.AdamW(model.parameters(), lr=0.1, weight_decay=0.1)).verdicts

    assert () == verdict.faults
    assert "weight decay 0.1 on 5 norms and biases" in verdict.remarks


def test_a_second_step_on_the_same_gradient_is_told():
    model = models.llama()
    optimizer = sgd(model)
    with watch(model, optimizer) as report:
        model(**batches()[0]).loss.backward()
        optimizer.step()
        optimizer.step()
        optimizer.zero_grad()
        optimizer.step()

    assert ("step", "the optimizer stepped 2 times on the gradient of one window") == only(report)


class Careless(torch.optim.SGD):
    """Puts one parameter back after the step."""

    def step(self, closure=None):
        kept = [p.detach().clone() for p in self.param_groups[0]["params"][:1]]
        found = super().step(closure)
        self.param_groups[0]["params"][0].data.copy_(kept[0])
        return found


def test_a_parameter_that_is_put_back_is_told():
    model = models.llama()
    Careless.__name__ = "SGD"
    stage, fault = only(window(model, Careless(model.parameters(), lr=0.1)))

    assert ("step", "model.embed_tokens.weight moved by 0 times what SGD prescribes") == (stage, fault)


@pytest.mark.parametrize(("lost", "said"), [(1, "the last 2 of 3 micro-batches"), (2, "the last 1 of 3 micro-batches")])
def test_a_gradient_that_lacks_micro_batches_is_told_with_which(lost, said):
    model, total = models.llama(), sum(len(row) - 1 for row in ROWS)
    optimizer = sgd(model)
    with watch(model, optimizer) as report:
        for number, (batch, row) in enumerate(zip(batches(), ROWS)):
            if number == lost:
                optimizer.zero_grad()
            (model(**batch).loss * ((len(row) - 1) / total)).backward()
        optimizer.step()
    (verdict,) = report.verdicts

    assert "backward" == verdict.stage
    assert any(fault.endswith(f"it is {said}") for fault in verdict.faults)
    np.testing.assert_allclose(report.windows[0].after.sums[0].shares[1:], [0] * lost + [1] * (3 - lost), rtol=1e-4)


def test_a_gradient_that_was_never_emptied_is_told():
    model = models.llama()
    optimizer = sgd(model)
    with watch(model, optimizer) as report:
        for batch in batches()[:2]:
            model(**batch).loss.backward()
            optimizer.step()

    assert () == report.verdicts[0].faults
    assert any(
        fault.endswith("it is the gradient of the step before on top of this window's")
        for fault in report.verdicts[1].faults
    )


def test_a_frozen_adapter_is_told():
    model = models.with_lora(modules_to_save=["lm_head"])
    for name, parameter in model.named_parameters():
        if "lora_" in name:
            parameter.requires_grad_(False)
    (verdict,) = window(model, torch.optim.SGD([p for p in model.parameters() if p.requires_grad], lr=0.1)).verdicts

    assert "backward" == verdict.stage
    assert any(fault.startswith("4 parameters of the active adapter do not train") for fault in verdict.faults)


def test_a_module_that_no_token_reached_is_a_remark():
    model = models.llama()
    model.extra = torch.nn.Linear(2, 2)
    optimizer = sgd(model)
    (verdict,) = window(model, optimizer).verdicts

    assert () == verdict.faults
    assert "2 trainable parameters are of modules that no token reached: extra.weight, extra.bias" in verdict.remarks


def test_a_classifier_is_watched_with_its_optimizer():
    model = models.row_classifier(num_labels=3)
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.1)
    with watch(model, optimizer) as report:
        model(**{**make_batch([[5, 6, 7], [8, 9, 4]]), "labels": torch.tensor([0, 2])}).loss.backward()
        optimizer.step()

    assert () == report.verdicts[0].faults
    assert report.windows[0].after.step.groups.all()


def test_half_a_float_hides_a_change_and_says_so():
    model = models.llama().to(torch.bfloat16)
    with warnings.catch_warnings():
        report = window(model, sgd(model, lr=1e-6))

    assert any("is below the rounding of the parameter" in said for said in report.verdicts[0].remarks)


def test_a_saved_report_says_the_same(tmp_path):
    model = models.llama()
    report = window(model, sgd(model), lambda: scale([model.lm_head.weight], 0.5))

    loaded = Report.load(report.save(tmp_path).parent)

    assert report.to_json() == loaded.to_json()
    assert str(report) == str(loaded)


def test_no_tensor_of_a_window_is_kept():
    model = models.llama()
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.1)
    held = []
    with watch(model, optimizer):
        for _ in range(5):
            for batch in batches():
                model(**batch).loss.backward()
            optimizer.step()
            optimizer.zero_grad()
            import gc

            gc.collect()
            held.append(sum(isinstance(x, torch.Tensor) for x in gc.get_objects()))

    assert held[2] == held[4]
