"""The folder `mutants/` that mutmut works in: made, kept in part or removed, and read."""

import contextlib
import json
import shutil
from collections.abc import Callable, Collection, Iterable
from dataclasses import asdict
from pathlib import Path

from mutation.source.mutant import Mutant, outcome_of
from mutation.source.stamp import Reuse, Stamp


class Tree:
    """The tree of one project.

    Attributes:
        project: folder with pyproject.toml.
        folder: where mutmut writes; the name is mutmut's.
        log: lines of the kill log.
    """

    def __init__(self, project: Path) -> None:
        self.project = project
        self.folder = project / "mutants"
        self.log = self.folder / "kills.jsonl"

    def stamp(self) -> Stamp | None:
        """What the tree was made from; None when there is none, or none that can be read."""
        with contextlib.suppress(OSError, ValueError, TypeError):
            return Stamp(**json.loads((self.folder / "stamp.json").read_text()))
        return None

    def prepare(self, how: Reuse, stamp: Stamp, again: Callable[[str], bool]) -> None:
        """Remove what a run must not find there, and write down what it starts from.

        Args:
            again: whether a mutant is run anew although it has a verdict.
        """
        if how.fresh and self.folder.exists():
            shutil.rmtree(self.folder)
        self.folder.mkdir(exist_ok=True)
        (self.folder / "stamp.json").unlink(missing_ok=True)
        for name in how.again:
            for ending in ("", ".meta", ".spans"):
                (self.folder / f"{name}{ending}").unlink(missing_ok=True)
        if how.again:
            self.ask_again({name.removesuffix(".py").replace("/", ".") for name in how.again})
        self.keep({name for name, (code, _) in self.booked().items() if code is not None and not again(name)})
        (self.folder / "stamp.json").write_text(json.dumps(asdict(stamp)))

    def ask_again(self, modules: Collection[str]) -> None:
        """Forget what the tests of some modules call: mutmut runs the tests that it does not know, and no others."""
        file = self.folder / "mutmut-stats.json"
        try:
            stats = json.loads(file.read_text())
            calls = stats["tests_by_mangled_function_name"]
            asked = {test for name, tests in calls.items() if name.rpartition(".")[0] in modules for test in tests}
            stats["tests_by_mangled_function_name"] = {name: [*(set(tests) - asked)] for name, tests in calls.items()}
            known = stats["duration_by_test"].items()
            stats["duration_by_test"] = {test: seconds for test, seconds in known if test not in asked}
            file.write_text(json.dumps(stats))
        except (OSError, ValueError, KeyError, TypeError):
            # None, or cut short: mutmut then runs all tests.
            file.unlink(missing_ok=True)

    def keep(self, mutants: Collection[str]) -> None:
        """Keep the lines of some mutants in the kill log, and drop the others."""
        lines = [line for line in self.lines() if line["mutant"] in mutants]
        half = self.log.with_suffix(".part")
        half.write_text("".join(json.dumps(line) + "\n" for line in lines))
        half.rename(self.log)

    def lines(self) -> list[dict[str, object]]:
        """The kill log; a last line that a hard exit cut short is left out."""
        found = []
        with contextlib.suppress(FileNotFoundError):
            for line in self.log.read_text().splitlines():
                with contextlib.suppress(ValueError):
                    found.append(json.loads(line))
        return found

    def booked(self) -> dict[str, tuple[int | None, str]]:
        """Exit code and file of each mutant, by name."""
        found = {}
        for meta in sorted(self.folder.rglob("*.py.meta")):
            path = meta.relative_to(self.folder).as_posix().removesuffix(".meta")
            for name, code in json.loads(meta.read_text())["exit_code_by_key"].items():
                found[name] = (code, path)
        return found

    def mutants(self) -> list[Mutant]:
        """Every mutant, with how it ended and by which tests."""
        kills: dict[str, dict[str, str]] = {}
        for line in self.lines():
            of_mutant = kills.setdefault(str(line["mutant"]), {})
            # A test may fail in its body and in its teardown; what the body said comes first, and stands.
            of_mutant.setdefault(str(line["test"]), str(line["kind"]))
        return [
            Mutant(name, path, outcome_of(code, kills.get(name, {}).values()), kills.get(name, {}))
            for name, (code, path) in self.booked().items()
        ]

    def diffs(self, mutants: Iterable[Mutant]) -> dict[str, str]:
        """What some mutants changed, as `mutmut show` prints it, by name."""
        from mutmut.mutation.diff_apply import get_diff_for_mutant

        with contextlib.chdir(self.project):
            return {mutant.name: get_diff_for_mutant(mutant.name, path=mutant.path) for mutant in mutants}
