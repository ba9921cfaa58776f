"""One run over the mutants of the source, from the settings to the verdict."""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

from rich.console import Console

from mutation.equivalents import read_source_equivalents
from mutation.journal import versions
from mutation.source import report
from mutation.source.drive import drive
from mutation.source.mutant import Change, change_of, function_of
from mutation.source.result import is_canary, matches, refuse_void, settle, spell
from mutation.source.settings import mutated_files, read_settings
from mutation.source.stamp import Reuse, reuse, take_stamp
from mutation.source.tree import Tree


@dataclass(frozen=True)
class Wish:
    """What the command line asks for.

    Attributes:
        project: folder with pyproject.toml.
        out: folder for source.json.
        only: modules or functions; everything when empty.
        fresh: keep nothing of an earlier run.
        changed: keep the verdicts on modules that are as they were.
        matrix: run every test under every mutant, not up to the first that judges it.
        workers: children at a time.
    """

    project: Path
    out: Path
    only: Sequence[str] = ()
    fresh: bool = False
    changed: bool = False
    matrix: bool = False
    workers: int = 2


def run(wish: Wish, console: Console) -> bool:
    """Carry a run out, print and write what it found.

    Returns:
        Whether both scores are good enough and every entry of the equivalents holds.

    Raises:
        ValueError: settings or equivalents that cannot be read.
        RuntimeError: the run is void.
    """
    began = time.monotonic()
    tree, settings = Tree(wish.project), read_settings(wish.project)
    file = wish.project / "mutation" / "equivalents.toml"
    declared = read_source_equivalents(file)
    mode = "matrix" if wish.matrix else "first"
    rests_on = {**versions(), "mutmut": version("mutmut"), "mode": mode}
    stamp = take_stamp(wish.project, settings, rests_on, file)
    how = Reuse(True, why="everything is run") if wish.fresh else reuse(tree.stamp(), stamp, wish.changed)
    console.print(how.why)
    patterns = [spell(pattern) for pattern in wish.only]
    modules = [module_of(path) for path in mutated_files(wish.project, settings)]
    for wanted in wish.only:
        name = wanted.partition("*")[0]
        if not any(name.startswith(module) or module.startswith(name) for module in modules):
            raise ValueError(f"--only {wanted}: no mutated module is called so, see only_mutate in pyproject.toml")
    tree.prepare(how, stamp, lambda name: bool(patterns) and (is_canary(name) or matches(name, patterns)))
    # mutmut would call a pattern that fits no mutant a failed assertion of its own, so the canaries get real names.
    canaries = [module_of(path) for path in mutated_files(wish.project, settings) if Path(path).stem == "canary"]
    chosen = [*patterns, *(f"{module}.*" for module in canaries)] if patterns else []
    with console.status("starting") as status:
        drive(tree, chosen, wish.matrix, wish.workers, status.update)
    mutants = [mutant for mutant in tree.mutants() if is_canary(mutant.name) or matches(mutant.name, patterns)]
    refuse_void(mutants)
    scored = [mutant for mutant in mutants if not is_canary(mutant.name)]
    functions = {function_of(mutant.name) for mutant in scored}
    # Of a run over some modules, the entries that speak of others prove nothing.
    asked = [change for change in declared if not patterns or change.function in functions]
    named = {change.function for change in asked}
    spoken_of = tree.diffs(mutant for mutant in scored if function_of(mutant.name) in named)
    changes: dict[str, Change] = {name: change_of(name, diff) for name, diff in spoken_of.items()}
    result = settle(scored, changes, asked)
    diffs = tree.diffs(result.open_ones())
    wish.out.mkdir(parents=True, exist_ok=True)
    report.write(wish.out / "source.json", result, diffs, mode, time.monotonic() - began)
    report.show(console, result, diffs)
    return not result.wrong


def module_of(path: str) -> str:
    """Name of the module in a file, by the file's path below the project."""
    return path.removesuffix(".py").replace("/", ".")
