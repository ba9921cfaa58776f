"""One run over the mutants of the source, from the settings to the verdict."""

import random
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
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
        sample: how many mutants are drawn at random and run; all when None.
        seed: of what is drawn.
    """

    project: Path
    out: Path
    only: Sequence[str] = ()
    fresh: bool = False
    changed: bool = False
    matrix: bool = False
    workers: int = 2
    sample: int | None = None
    seed: int = 0


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
    again = partial(runs_again, patterns=patterns, sample=wish.sample is not None)
    tree.prepare(how, stamp, again)
    with console.status("starting") as status:
        tried = try_out(tree, wish, patterns, modules, status.update)
    mutants = [mutant for mutant in tree.mutants() if mutant.name in tried]
    refuse_void(mutants)
    scored = [mutant for mutant in mutants if not is_canary(mutant.name)]
    functions = {function_of(mutant.name) for mutant in scored}
    # Of a run over some modules, the entries that speak of others prove nothing.
    asked = [change for change in declared if not patterns or change.function in functions]
    named = {change.function for change in asked}
    spoken_of = tree.diffs(mutant for mutant in scored if function_of(mutant.name) in named)
    changes: dict[str, Change] = {name: change_of(name, diff) for name, diff in spoken_of.items()}
    if wish.sample is not None:
        drawn = set(changes.values())
        asked = [change for change in asked if change in drawn]
    result = settle(scored, changes, asked, sampled=wish.sample is not None)
    diffs = tree.diffs(result.open_ones())
    wish.out.mkdir(parents=True, exist_ok=True)
    report.write(wish.out / "source.json", result, diffs, mode, time.monotonic() - began, wish.sample, wish.seed)
    report.show(console, result, diffs, sampled=wish.sample is not None)
    return not result.wrong


def runs_again(name: str, patterns: Sequence[str], sample: bool) -> bool:
    """Whether a mutant is run anew although it has a verdict: what is asked for by name, and the canaries beside it."""
    if is_canary(name):
        return sample or bool(patterns)
    return not sample and bool(patterns) and matches(name, patterns)


def try_out(
    tree: Tree, wish: Wish, patterns: Sequence[str], modules: Sequence[str], told: Callable[[str], None]
) -> set[str]:
    """Run what is asked for, and the canaries.

    Returns:
        Names of the mutants that the run speaks of.
    """
    # mutmut would call a pattern that fits no mutant a failed assertion of its own, so the canaries get real names.
    canaries = [f"{module}.*" for module in modules if module.rpartition(".")[2] == "canary"]
    if wish.sample is None:
        drive(tree, [*patterns, *canaries] if patterns else [], wish.matrix, wish.workers, told)
        return {name for name in tree.booked() if is_canary(name) or matches(name, patterns)}
    # Only a first run makes the mutants, whose names can then be drawn.
    drive(tree, canaries, wish.matrix, wish.workers, told)
    booked = tree.booked()
    chosen = draw([name for name in booked if matches(name, patterns)], wish.sample, wish.seed)
    left = [name for name in chosen if booked[name][0] is None]
    if left:
        drive(tree, left, wish.matrix, wish.workers, told)
    return {*chosen, *(name for name in booked if is_canary(name))}


def draw(names: Sequence[str], number: int, seed: int) -> list[str]:
    """Draw some mutants at random, each as likely as any other; all but the canaries, where there are no more."""
    all_of_them = sorted(name for name in names if not is_canary(name))
    return random.Random(seed).sample(all_of_them, min(number, len(all_of_them)))


def module_of(path: str) -> str:
    """Name of the module in a file, by the file's path below the project."""
    return path.removesuffix(".py").replace("/", ".")
