"""One window of eight rows as four micro-batches of two, and as one of eight: the norm of the gradient that is logged.

python benchmarks/neighbours/windows.py llamafactory|swift [NAME=VALUE,NAME=VALUE ...]

Each further word is one case: options of the stack, with a comma between two; without any, those of `CASES`. The rows
and the parameters are the same, so a loss that is one mean over the window has one gradient however the window is cut.
"""

import contextlib
import io
import json
import os
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import yaml
from local import of_llama_factory, of_swift

CASES = {
    "llamafactory": ("", "use_dft_loss=true", "use_eaft_loss=true", "use_asft_loss=true", "label_smoothing_factor=0.1"),
    "swift": ("", "enable_dft_loss=true", "loss_scale=ignore_empty_think", "label_smoothing_factor=0.1"),
}


def llamafactory(folder: Path, given: dict[str, str], rows: int, steps: int) -> None:
    """One optimizer step of `llamafactory-cli train`, which writes trainer_state.json to folder/out."""
    # It imports torchaudio for sound, which has no build for torch 2.13.0: an empty module stands in.
    sys.modules.setdefault("torchaudio", type(sys)("torchaudio"))
    from llamafactory.train.tuner import run_exp  # type: ignore[import-not-found]

    options = {**of_llama_factory(folder), "disable_shuffling": True}
    # Its words have types, as in a YAML file.
    read = {name: yaml.safe_load(value) for name, value in given.items()}
    run_exp({**options, **shape(folder, rows, steps), **read})


def swift(folder: Path, given: dict[str, str], rows: int, steps: int) -> None:
    """One optimizer step of `swift sft`."""
    from swift.pipelines import sft_main  # type: ignore[import-not-found]

    options = {
        **of_swift(folder),
        "dataset_shuffle": "false",
        "train_dataloader_shuffle": "false",
        "add_version": "false",
    }
    told = {**options, **shape(folder, rows, steps), **given}
    sft_main([text for name, value in told.items() for text in (f"--{name}", str(value))])


def shape(folder: Path, rows: int, steps: int) -> dict[str, object]:
    """What both stacks name alike."""
    return {
        "output_dir": str(folder / "out"),
        "per_device_train_batch_size": rows,
        "gradient_accumulation_steps": steps,
        "max_steps": 1,
        "logging_steps": 1,
        "learning_rate": 1e-3,
        "report_to": "none",
        "save_strategy": "steps",
        "save_steps": 1,
    }


def logged(train: Callable[..., None], case: str, rows: int, steps: int) -> float:
    """The norm of the gradient before it is clipped, as the Trainer logs it."""
    given = dict(word.split("=", 1) for word in case.split(",") if word)
    with tempfile.TemporaryDirectory() as text, contextlib.redirect_stdout(io.StringIO()):
        train(Path(text), given, rows, steps)
        (state,) = sorted((Path(text) / "out").rglob("checkpoint-1/trainer_state.json"))
        return next(
            entry["grad_norm"] for entry in json.loads(state.read_text())["log_history"] if "grad_norm" in entry
        )


if __name__ == "__main__":
    os.environ.setdefault("DISABLE_VERSION_CHECK", "1")
    stack, cases = sys.argv[1], sys.argv[2:]
    train = {"llamafactory": llamafactory, "swift": swift}[stack]
    for case in cases or CASES[stack]:
        split, whole = logged(train, case, 2, 4), logged(train, case, 8, 1)
        norms = f"4 micro-batches {split:.6f}, 1 micro-batch {whole:.6f}"
        print(f"{stack} {case or 'default'}: {norms}, ratio {split / whole:.4f}")
