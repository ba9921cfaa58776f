"""Each answer of the atlas comes with a script that measures the same figure on its own."""

import contextlib
import io
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch

from instrument.atlas import repro
from instrument.atlas.build import Subject
from instrument.atlas.checks import all_checks

CHECKS = ("packed, default call", "packed, mask of ones", "packed, two rows", "packed, eager", "padded left")
MORE = ("causality", "targets", "accumulation, M = 4", "head", "checkpointing, reentrant")


def script_of(name, check):
    """The script, and the figure that the check measures."""
    (chosen,) = [c for c in all_checks() if c.name == check]
    subject = Subject(name)
    return repro.script(name, subject.config_arguments, chosen.tail(subject)), chosen.run(subject).figure


@pytest.mark.parametrize("check", CHECKS + MORE)
def test_the_script_prints_the_figure_of_the_check(check):
    script, figure = script_of("gpt2", check)
    said = io.StringIO()

    with contextlib.redirect_stdout(said):
        exec(compile(script, "script", "exec"), {})

    assert f"figure: {figure}" == said.getvalue().splitlines()[-1]


class Plain(torch.nn.Module):
    """A model that knows of no cache."""

    def forward(self, input_ids, labels, position_ids):
        """Do nothing."""


@pytest.mark.parametrize(
    ("model", "call"), [(Plain, "{**batch}"), (torch.nn.Identity, "{**batch, 'use_cache': False}")]
)
def test_only_arguments_that_the_model_takes_are_handed_to_it(model, call):
    model = model()
    model.forward = model.forward if isinstance(model, Plain) else lambda use_cache: None
    subject = SimpleNamespace(head="causal-lm", model=lambda: model)

    tail = repro.leaks({"input_ids": [[3, 4]]}, use_cache=False)(subject)

    assert f"find_leaks(model, {call})" in tail


@pytest.mark.spawn
def test_the_script_runs_in_a_process_of_its_own(tmp_path):
    script, figure = script_of("opt", "packed, no cache")
    file = tmp_path / "script.py"
    file.write_text(script)
    root = str(Path(__file__).parents[2])

    ran = subprocess.run([sys.executable, file], env={"PYTHONPATH": root}, capture_output=True, text=True, timeout=300)

    assert f"figure: {figure}" == ran.stdout.splitlines()[-1]
    assert figure > 0
