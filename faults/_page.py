"""docs/faults.md: all faults, from their files, the docstrings of their closed forms, and who notices them."""

import ast
import json
from collections.abc import Mapping
from itertools import dropwhile, takewhile
from pathlib import Path

from ._fault import Fault, emulated_from, library_of

ROOT = Path(__file__).parents[1]


def page(faults: Mapping[str, Fault], root: Path = ROOT) -> str:
    """The faults as Markdown, by family.

    Args:
        faults: by name.
        root: of the repository, where the closed forms and the tests that notice are.
    """
    killers: dict[str, str] = json.loads((root / "mutation" / "killers.json").read_text())
    reported = sum(bool(fault.source) for fault in faults.values())
    told = [
        "# The faults",
        "",
        "Written by `python -m faults docs`. `python -m faults run NAME -- COMMAND` runs a command with one planted.",
        f"{len(faults)} faults; {reported} of them have a public report each, the others are of the instrument itself.",
    ]
    for family in sorted({fault.family for fault in faults.values()}):
        mine = {name: fault for name, fault in faults.items() if fault.family == family}
        told += ["", f"## {family}: {len(mine)}"]
        for name, fault in mine.items():
            other = emulated_from(fault)
            of = f", an emulation: reported of [{other}]" if other else ", reported [there]"
            report = f"{of}({fault.source}) in {fault.year}" if fault.source else ""
            told += ["", f"### {name}", "", f"{fault.mechanism} In {library_of(fault)}, `{fault.seam}`{report}.", ""]
            told.append(f"Measured: {fault.quantity} as `{fault.effect}`: {meaning(fault.effect, root)}")
            if name in killers:
                told += ["", f"Noticed by `{killers[name].removeprefix('tests/')}`, among others."]
    return "\n".join(told) + "\n"


def meaning(form: str, root: Path = ROOT) -> str:
    """First sentence of a closed form's docstring, and its equation where one follows.

    Args:
        form: "module:name".

    Raises:
        LookupError: there is no such function, or it has no docstring.
    """
    module, _, name = form.partition(":")
    text = docstrings(root.joinpath(*module.split(".")).with_suffix(".py")).get(name)
    if not text:
        raise LookupError(f"{form} has no docstring: give the name of a documented closed form")
    lines = text.splitlines()
    # To Markdown, the shape [m][b] would be a link.
    said = " ".join(takewhile(bool, lines)).replace("][", "]\\[")
    rest = dropwhile(lambda line: not line, lines[len(list(takewhile(bool, lines))) :])
    equation = [line.strip() for line in takewhile(lambda line: line.startswith("    "), rest)]
    return f"{said} `{'; '.join(equation)}`" if equation else said


def docstrings(file: Path) -> dict[str, str]:
    """The docstring of each function of a file, which is read and not imported: it may need what is not installed."""
    functions = [node for node in ast.parse(file.read_text()).body if isinstance(node, ast.FunctionDef)]
    return {function.name: ast.get_docstring(function) or "" for function in functions}
