"""Which calls a test file makes while it is collected, before any fault is on.

A fault that is switched on later does not reach such a call, so what the call returned is never put to the test. Code
that stands in a function, a method or a lambda runs later; decorators, arguments of `parametrize`, default values and
the body of a class run at once.
"""

import ast
from collections.abc import Iterator, Mapping
from pathlib import Path


def first_party(root: Path) -> set[str]:
    """Name the packages of a project: the folders at its top that hold Python files."""
    return {file.relative_to(root).parts[0] for file in root.glob("[!.]*/**/*.py")}


def calls_at_import(text: str, packages: set[str]) -> list[tuple[int, str]]:
    """List the calls of first-party functions that a module makes when it is imported.

    Not listed is what describes and computes nothing: a call into a module named `strategies`, the making of an object
    of a class, and a method of a constant; by their spelling, with a capital letter.

    Returns:
        The line and the full name of what is called, in the order of the file.
    """
    tree = ast.parse(text)
    names = imported(tree)
    found = []
    for call in run_at_import(tree):
        dotted = written(call.func)
        head, _, rest = dotted.partition(".")
        full = f"{names[head]}.{rest}".rstrip(".") if head in names else ""
        parts = full.split(".")
        describes = "strategies" in parts or any(part[:1].isupper() for part in parts)
        if parts[0] in packages and not describes:
            found.append((call.lineno, full))
    return sorted(found)


def imported(tree: ast.Module) -> Mapping[str, str]:
    """What each name stands for that the module imports, at its top or below."""
    names = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                top = alias.name.split(".")[0]
                names[alias.asname or top] = alias.name if alias.asname else top
        elif isinstance(node, ast.ImportFrom) and node.module:
            for alias in node.names:
                names[alias.asname or alias.name] = f"{node.module}.{alias.name}"
    return names


def run_at_import(node: ast.AST) -> Iterator[ast.Call]:
    """Walk over the calls that run when the module does."""
    if isinstance(node, ast.Call):
        yield node
    inner = list(ast.iter_child_nodes(node))
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
        inner = [*node.decorator_list, *node.args.defaults, *filter(None, node.args.kw_defaults)]
    elif isinstance(node, ast.Lambda):
        inner = [*node.args.defaults, *filter(None, node.args.kw_defaults)]
    for child in inner:
        yield from run_at_import(child)


def written(node: ast.expr) -> str:
    """A dotted name as it is written; empty for anything else."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        head = written(node.value)
        return f"{head}.{node.attr}" if head else ""
    return ""
