"""Writes the file of a new fault: what is known of it, and marks where its author has to think."""

import inspect
import re
from importlib.metadata import version
from pathlib import Path

from . import CATALOGUE
from ._seam import find

FILE = '''"""TODO: one line: what goes wrong."""

from typing import Any

from .._fault import Call, Fault


def patch(original: Call) -> Call:
    """TODO: what the broken function does; `original` is the right one, to be called or not."""

    def {function}({parameters}) -> Any:
        return original({handed})

    return {function}


FAULT = Fault(
    family="{family}",
    library="{library}",
    seam="{seam}",
{report}    mechanism="TODO: one sentence: what the code then does wrong.",
    # TODO: the closed form that the measurement then equals, and the run of tests/faults/scenarios.py where it shows.
    effect="closed_forms.aggregation:mean_of_micro_batch_means",
    quantity="weights",
    visible="trainer_accumulation",
    patch=patch,
)
'''

NEXT = """{file} is written; it does nothing wrong yet. What is left:
  1. Replace each TODO: break the function in `patch`, and name the closed form that must then be measured.
  2. python -m pytest tests/faults -k {name}          the effect: measured equals declared
  3. python -m mutation prove {name}                  which tests of the suite notice it
     python -m mutation killers planted/{name}        keeps who noticed
  4. python -m faults docs > docs/faults.md
CONTRIBUTING.md ("Add a fault") says more; docs/fault-runs.md lists the runs, and what they are good for."""


def write(name: str, seam: str, source: str, year: int, family: str, root: Path = Path(__file__).parent) -> str:
    """Write the file of a new fault beside the others of its library.

    Args:
        name: of the fault, as a Python name; its file is called so.
        seam: "module:qualified name" of the function that it breaks, which must be there.
        source: link to the public report.
        year: of the report.
        family: what kind of defect it is.
        root: the folder that holds one folder per library.

    Returns:
        What to do next.

    Raises:
        LookupError: a name that is taken or is no name; a seam that is not there; a source that is no link, or that
            another fault has; a library without a folder.
    """
    if not re.fullmatch(r"[a-z][a-z0-9_]*", name):
        raise LookupError(f"new {name}: a fault's name is its file's: give lower-case letters, digits and _")
    if name in CATALOGUE:
        raise LookupError(f"new {name}: the name is taken, by {CATALOGUE[name].seam}: choose another")
    if not re.fullmatch(r"[\w.]+:[\w.]+", seam):
        raise LookupError(f'--seam {seam}: give it as "module:qualified name", e.g. torch.optim.adamw:AdamW.step')
    library = seam.partition(":")[0].partition(".")[0]
    own = library == "instrument"
    if own and source:
        raise LookupError(f"--source {source}: nobody reported a fault of the instrument: leave it out")
    if not own and not re.fullmatch(r"https://\S+", source):
        raise LookupError(f"--source {source!r}: this is no link: give the https:// address of the public report")
    twin = next((other for other, fault in CATALOGUE.items() if source and fault.source == source), None)
    if twin is not None:
        raise LookupError(f"--source {source}: {twin} has it: one report, one fault; give the report of this one")
    if not (root / library / "__init__.py").exists():
        folders = ", ".join(sorted(init.parent.name for init in root.glob("[!_]*/__init__.py")))
        raise LookupError(f"--seam {seam}: no folder faults/{library}: choose from {folders}, or make one")
    function = find(seam, library)
    file = root / library / f"{name}.py"
    if file.exists():
        raise LookupError(f"new {name}: {file} exists: choose another name")
    parameters = inspect.signature(function).parameters.values()
    # A seam hands over all its arguments, so that none needs a default.
    bare = [p.replace(default=p.empty, annotation="Any") for p in parameters]
    release = "" if own else f">={'.'.join(version(library).split('.')[:2])}"
    file.write_text(
        FILE.format(
            function=function.__name__,
            parameters=str(inspect.Signature(bare)).strip("()").replace("'Any'", "Any"),
            handed=", ".join(handed(parameter) for parameter in bare),
            family="instrument" if own else family,
            library=library + release,
            seam=seam,
            report="" if own else f'    source="{source}",\n    year={year},\n',
        )
    )
    return NEXT.format(file=file, name=name)


def handed(parameter: inspect.Parameter) -> str:
    """How a function hands one of its parameters to another with the same ones."""
    kinds = {"VAR_POSITIONAL": "*{0}", "VAR_KEYWORD": "**{0}", "KEYWORD_ONLY": "{0}={0}"}
    return kinds.get(parameter.kind.name, "{0}").format(parameter.name)
