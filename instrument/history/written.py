"""What the installed stack shows, as JSON and nothing else, under any release."""

import json
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from ..files import refuse_unwritable, write_asked
from ..progress import shown
from ..quiet import quiet

Target = Annotated[Path, typer.Argument(metavar="FILE", help="The file to write.")]


def legacy_ga(file: Target) -> None:
    """Write the measured accumulation step (four micro-batches of two rows) of the installed transformers."""
    measured(file, "accumulation 4x2")


def export(file: Target) -> None:
    """Write every measured result of the installed stack, whatever its status."""
    measured(file, None)


def measured(file: Path, only: str | None) -> None:
    """Run checks, and write all that was found."""
    refuse_unwritable({"FILE": file})
    quiet()
    try:
        import torch

        from .. import checks
        from ..report import as_json
    except ImportError as gone:
        raise typer.BadParameter(f"what is installed is measured, and it cannot be imported: {gone}") from gone

    torch.set_num_threads(1)
    names = [check.name for check in checks.choose(only)]
    outcomes = list(shown(checks.run_checks(only), names, Console(stderr=True)))
    found = as_json.outcomes(outcomes)
    write_asked({"FILE": (file, json.dumps(found, indent=2, allow_nan=False) + "\n")})
