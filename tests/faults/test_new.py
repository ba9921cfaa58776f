"""`python -m faults new`: a file that lists, plants, and changes nothing until its author breaks something."""

import inspect
import itertools
from importlib import import_module

import pytest
import torch

from faults import CATALOGUE, planted
from faults.__main__ import main
from faults._new import write
from faults._seam import find

LIBRARIES = ("accelerate", "instrument", "peft", "torch", "transformers", "trl")
NUMBERS = itertools.count()


@pytest.fixture
def root(tmp_path, monkeypatch):
    """A package of faults with a folder for each library and nothing in it."""
    package = f"walked_{next(NUMBERS)}"
    for library in LIBRARIES:
        (tmp_path / package / library).mkdir(parents=True)
        (tmp_path / package / library / "__init__.py").touch()
    (tmp_path / package / "__init__.py").touch()
    (tmp_path / package / "_fault.py").write_text("from faults._fault import Call, Fault\n")
    monkeypatch.syspath_prepend(tmp_path)
    # What is experimental in TRL says so when it is imported.
    monkeypatch.setenv("TRL_EXPERIMENTAL_SILENCE", "1")
    return tmp_path / package


def written(root, seam, **given):
    """Write a fault at a seam and import it."""
    library = seam.split(".")[0]
    reported = {"source": "https://example.org/report", "year": 2024, "family": "masks"}
    told = write(
        "fresh", seam, **{**reported, **({"source": ""} if library == "instrument" else {}), **given}, root=root
    )
    assert "python -m mutation prove fresh" in told
    return import_module(f"{root.name}.{library}.fresh").FAULT


@pytest.mark.parametrize("seam", sorted({fault.seam for fault in CATALOGUE.values()}))
def test_a_new_fault_takes_its_seams_own_arguments_and_hands_them_on(seam, root):
    fault = written(root, seam)
    signature = inspect.signature(find(seam, fault.library))
    given = [f"<{name}>" for name, p in signature.parameters.items() if p.kind < p.KEYWORD_ONLY]
    named = {name: f"<{name}>" for name, p in signature.parameters.items() if p.kind >= p.KEYWORD_ONLY}
    called = []

    fault.patch(lambda *args, **kwargs: called.append((args, kwargs)))(*given, **named)

    assert called == [(tuple(given), named)]


def test_a_new_fault_does_nothing_wrong(root):
    fault = written(root, "torch.optim.optimizer:Optimizer.zero_grad")
    weight = torch.nn.Parameter(torch.ones(1))
    optimizer = torch.optim.SGD([weight], lr=1.0)
    weight.sum().backward()

    with planted(fault) as hits:
        optimizer.zero_grad()

    assert (hits.count, weight.grad) == (1, None)


def test_a_fault_of_the_instrument_is_one_of_its_family_without_a_report(root):
    fault = written(root, "instrument.readout:read_weights")

    assert (fault.library, fault.family, fault.source, fault.year) == ("instrument", "instrument", "", 0)


def test_what_was_said_is_in_the_file(root):
    fault = written(root, "transformers.trainer:Trainer.training_step", family="optimizer", year=2023)

    assert (fault.family, fault.source, fault.year) == ("optimizer", "https://example.org/report", 2023)
    assert fault.library.startswith("transformers>=")


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"name": "Bad-Name"}, "new Bad-Name: a fault's name is its file's"),
        ({"name": "divided_twice"}, "new divided_twice: the name is taken, by transformers.trainer"),
        ({"source": "a colleague"}, "--source 'a colleague': this is no link"),
        ({"source": ""}, "--source '': this is no link"),
        ({"source": CATALOGUE["divided_twice"].source}, "divided_twice has it: one report, one fault"),
        ({"seam": "transformers.trainer"}, '--seam transformers.trainer: give it as "module:qualified name"'),
        (
            {"seam": "numpy.linalg:norm"},
            "--seam numpy.linalg:norm: no folder faults/numpy: choose from accelerate,",
        ),
        ({"seam": "transformers.trainer:Trainer.gone"}, "has no 'gone' in"),
        ({"seam": "instrument.readout:read_weights"}, "nobody reported a fault of the instrument"),
    ],
)
def test_what_cannot_be_written_is_one_sentence_and_no_file(given, told, root):
    said = {
        "name": "fresh",
        "seam": "transformers.trainer:Trainer.training_step",
        "source": "https://example.org/report",
        "year": 2024,
        "family": "masks",
    }

    with pytest.raises(LookupError) as raised:
        write(**{**said, **given}, root=root)

    assert told in str(raised.value)
    assert not list(root.glob("*/[a-z]*.py"))


def test_a_file_is_never_overwritten(root):
    written(root, "torch.optim.optimizer:Optimizer.zero_grad")

    with pytest.raises(LookupError, match=r"fresh\.py exists: choose another name"):
        written(root, "torch.optim.optimizer:Optimizer.zero_grad")


def test_the_command_tells_what_is_wrong_in_one_line(capsys):
    with pytest.raises(SystemExit) as raised:
        main(["new", "divided_twice", "--seam", "torch.optim:SGD"])

    assert raised.value.code == 2
    assert "the name is taken" in capsys.readouterr().err.splitlines()[-1]
