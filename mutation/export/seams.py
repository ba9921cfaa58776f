"""Where the code behind a seam stands, without importing it."""

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


@dataclass(frozen=True)
class Place:
    """A piece of a file.

    Attributes:
        name: the file's path below the folder that it is imported from.
        source: all of the file.
        start: line and column, counted from 1.
        end: likewise, behind the last character.
    """

    name: str
    source: str
    start: tuple[int, int]
    end: tuple[int, int]


def places_of(seams: Iterable[str]) -> dict[str, Place]:
    """Find the definitions that seams name.

    What is not in this environment or in this release is given a place at the top of its file, which may be empty.
    """
    by_module: dict[str, list[str]] = {}
    for seam in seams:
        by_module.setdefault(seam.partition(":")[0], []).append(seam)
    found: dict[str, Place] = {}
    for module, inside in by_module.items():
        file = file_of(module)
        folders, ending = module.replace(".", "/"), "/__init__.py" if file and file.stem == "__init__" else ".py"
        source = file.read_text(encoding="utf-8", errors="replace") if file else ""
        tree = ast.parse(source)
        for seam in inside:
            node = definition(tree, seam.partition(":")[2])
            start = (node.lineno, node.col_offset + 1) if node else (1, 1)
            end = (node.end_lineno or 1, (node.end_col_offset or 0) + 1) if node else (1, 1)
            found[seam] = Place(folders + ending, source, start, end)
    return found


def file_of(module: str) -> Path | None:
    """The source file of a module; only the first part of its name is looked up, since that imports nothing."""
    first, *rest = module.split(".")
    spec = find_spec(first)
    if spec is None or spec.origin is None or not spec.origin.endswith(".py"):
        return None
    if not rest:
        return Path(spec.origin)
    below = Path(spec.origin).parent.joinpath(*rest)
    choices = (below.with_name(below.name + ".py"), below / "__init__.py")
    return next((choice for choice in choices if choice.is_file()), None)


def definition(tree: ast.Module, path: str) -> Definition | None:
    """The function or class with that qualified name."""
    inside: ast.AST = tree
    found = None
    for part in path.split("."):
        found = next((node for node in definitions(inside) if node.name == part), None)
        if found is None:
            return None
        inside = found
    return found


def definitions(node: ast.AST) -> Iterator[Definition]:
    """The functions and classes that stand in a module, class or function, also those under a condition."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, Definition):
            yield child
        else:
            yield from definitions(child)
