"""What the result of a test under a fault depends on, as far as the sources tell: the rules, without input or output.

A key covers the syntax of what is read: comments and blank lines change none, a docstring does. What it cannot see:
files and processes that a test opens (`opaque` names such tests, and nobody may reuse their cells), modules whose names
are put together at run time, packages whose version is not recorded, hardware, and the constants that Hypothesis
collects from all modules that happen to be imported. That is why cached cells are run again in part.
"""

import ast
import hashlib
import re
from collections.abc import Iterator


def digest(*parts: str) -> str:
    """Hash texts; where one ends matters."""
    hashed = hashlib.sha256()
    for part in parts:
        hashed.update(f"{len(part)}:{part}".encode(errors="surrogatepass"))
    return hashed.hexdigest()[:32]


def shape(tree: ast.AST) -> str:
    """The syntax of a piece of Python, without comments and positions."""
    return ast.dump(tree, annotate_fields=False)


def function_of(test: str) -> str:
    """The function, or the class, of a node id "path::function[parameters]" or "path::Class::function"."""
    return re.split(r"\W", test.partition("::")[2], maxsplit=1)[0]


def own_part(module: ast.Module, function: str) -> ast.Module:
    """A test module without the test functions that one does not mention. Classes stay whole, since they inherit."""
    kept = {function}
    others = {name_of(node) for node in module.body} - {""}
    while True:
        body = [node for node in module.body if name_of(node) in kept or not name_of(node)]
        mentioned = {node.id for part in body for node in ast.walk(part) if isinstance(node, ast.Name)}
        if mentioned & others <= kept:
            return ast.Module(body, [])
        kept |= mentioned & others


def name_of(node: ast.stmt) -> str:
    """Name of the test function that a statement defines; empty when it defines none."""
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and node.name.startswith("test"):
        return node.name
    return ""


def imports(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Modules that a file may import, inside of functions too, each with the number of leading dots.

    A text that looks like a dotted name counts: it may be handed to importlib, or be a closed form "module:name".
    """
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((0, name.name) for name in node.names)
        elif isinstance(node, ast.ImportFrom):
            module = node.module or ""
            yield node.level, module
            yield from ((node.level, f"{module}.{name.name}".lstrip(".")) for name in node.names)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            if re.fullmatch(r"\w+(\.\w+)*(\.|:)\w+", node.value):
                yield 0, node.value.partition(":")[0]


def opaque(tree: ast.AST) -> bool:
    """Whether something there opens a file or starts a process, which no key can follow."""
    names = {"open", "__file__", "subprocess", "multiprocessing", "Popen", "read_text", "read_bytes", "fork", "system"}
    for node in ast.walk(tree):
        used = node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""
        module = (node.module or "").partition(".")[0] if isinstance(node, ast.ImportFrom) else ""
        if used in names or module in names:
            return True
    return False
