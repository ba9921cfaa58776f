"""Reads the sources that keys are made of."""

import ast
import inspect
import os
import platform
import sys
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import pytest

from faults import Fault
from faults._seam import find
from mutation.journal import versions
from mutation.keys import digest, function_of, imports, opaque, own_part, shape


@dataclass(frozen=True)
class File:
    """What keys need to know of a file.

    Attributes:
        leads: first-party files that it imports.
        shut: it opens no file and starts no process.
    """

    tree: ast.Module
    digest: str
    leads: Sequence[Path]
    shut: bool


class Keys:
    """Keys of the cells of one campaign. A file is first-party when it lies below the root and in no site-packages."""

    def __init__(self, session: pytest.Session, faults: Mapping[str, Fault]) -> None:
        self.root, self.faults = session.config.rootpath, faults
        self.paths = {item.nodeid: item.path for item in session.items}
        inside = [Path(place) for place in sys.path if Path(place).is_relative_to(self.root)]
        self.places = list(dict.fromkeys([self.root, *inside]))
        settings = session.config.inipath
        self.settings = settings.read_text() if settings else ""
        self.environment = environment()
        self.files: dict[Path, File] = {}
        self.known: dict[tuple[str, ...], Any] = {}

    def of(self, name: str, part: str, test: str) -> str:
        """Key of a cell: a part of the trial of a fault, or of a baseline, and a test."""
        own = digest(test, self.settings, self.once("test", str(self.paths[test]), function_of(test))[0])
        if name == "baseline":
            return digest(part, self.environment, own)
        fault = self.once("fault", name)
        if part == "effect":
            return digest(part, self.environment, fault, own, self.once("forms", name))
        return digest("fault", self.environment, fault, own)

    def sealed(self, test: str) -> bool:
        """Whether the key covers all that the test reads."""
        return bool(self.once("test", str(self.paths[test]), function_of(test))[1])

    def once(self, what: str, *of: str) -> Any:
        """Ask one of the methods below, and keep what it says."""
        if (what, *of) not in self.known:
            self.known[what, *of] = getattr(self, what)(*of)
        return self.known[what, *of]

    def test(self, path: str, function: str) -> tuple[str, bool]:
        """Digest of a test function with all that it reads, and whether that is all."""
        own, beside = self.reads(Path(path), function)
        sealed = own.shut and all(self.file(file).shut for file in beside)
        return digest(own.digest, self.all_of(beside)), sealed

    def reads(self, path: Path, function: str) -> tuple[File, list[Path]]:
        """A test's part of its file; and the other first-party files that it imports, and those of every conftest."""
        own = self.facts(own_part(self.file(path).tree, function), path)
        above = [folder / "conftest.py" for folder in path.parents if folder.is_relative_to(self.root)]
        start = [*(file for file in above if file.is_file()), *own.leads, *packages(path)]
        return own, [file for file in self.closure(start) if file != path]

    def fault(self, name: str) -> str:
        """Digest of a fault: what it declares, the file of its patch, and the seam as it is installed."""
        fault = self.faults[name]
        declared = [str(getattr(fault, field.name)) for field in fields(fault) if field.name != "patch"]
        # A weaker form of a fault has the file of the fault.
        file = Path(inspect.getsourcefile(inspect.unwrap(fault.patch)) or "")
        return digest(*declared, fault.patch.__qualname__, self.file(file).digest, seam(fault.seam))

    def forms(self, name: str) -> str:
        """Digest of the closed forms that a fault names."""
        fault = self.faults[name]
        modules = [form.partition(":")[0] for form in (fault.effect, fault.clean)]
        return self.all_of(self.closure([file for form in modules for file in self.resolve(self.root, 0, form)]))

    def file(self, path: Path) -> File:
        """What is known of a file; each is read once."""
        if path not in self.files:
            self.files[path] = self.facts(ast.parse(path.read_bytes()), path)
        return self.files[path]

    def facts(self, tree: ast.Module, path: Path) -> File:
        """What is known of the syntax of a file, or of a part of it."""
        leads = [file for level, name in imports(tree) for file in self.resolve(path, level, name)]
        return File(tree, digest(shape(tree)), leads, not opaque(tree))

    def all_of(self, files: Iterable[Path]) -> str:
        """Digest of files with their places."""
        return digest(*(f"{file.relative_to(self.root)} {self.file(file).digest}" for file in sorted(files)))

    def closure(self, files: Iterable[Path]) -> set[Path]:
        """Files, and all first-party files that they import, directly or not."""
        found: set[Path] = set()
        waiting = list(files)
        while waiting:
            file = waiting.pop()
            if file not in found:
                found.add(file)
                waiting += self.file(file).leads
        return found

    def resolve(self, file: Path, level: int, name: str) -> list[Path]:
        """First-party files behind an import in a file, those of the packages around them included."""
        found = []
        for place in [file.parents[level - 1]] if level else self.places:
            bare = place.joinpath(*name.split("."))
            found += [at for at in (bare.with_suffix(".py"), bare / "__init__.py") if at.is_file()]
        own = [at for at in found if at.is_relative_to(self.root) and "site-packages" not in at.parts]
        return own + [package for at in own for package in packages(at)]


def seam(name: str) -> str:
    """Digest of a seam as it is installed: of its text, since a patch may look for a line of it."""
    with suppress(LookupError, OSError):
        return digest(name, inspect.getsource(find(name, name.partition(".")[0])))
    return digest(name)


def packages(file: Path) -> list[Path]:
    """The __init__.py of every package that a file lies in."""
    found = []
    for folder in file.parents:
        if not (folder / "__init__.py").is_file():
            break
        found.append(folder / "__init__.py")
    return found


def environment() -> str:
    """Digest of what every cell depends on: versions, machine, Hypothesis profile, and how cells come about."""
    here, faults = Path(__file__).parent, Path(sys.modules["faults"].__file__ or "").parent
    files = {*runner(here, "baseline", "pool", "sources", "suite", "switches")}
    files |= {*faults.glob("**/_*.py"), *faults.glob("_site/*.py")}
    sources = [shape(ast.parse(file.read_bytes())) for file in sorted(files)]
    profile = os.environ.get("HYPOTHESIS_PROFILE", "")
    return digest(repr(sorted(versions().items())), sys.platform, platform.machine(), profile, *sources)


def runner(here: Path, *names: str) -> set[Path]:
    """Modules of this package, and those of it that they import."""
    found: set[Path] = set()
    waiting = [here / f"{name}.py" for name in names]
    while waiting:
        file = waiting.pop()
        if file not in found and file.is_file():
            found.add(file)
            leads = [
                name.split(".") for _, name in imports(ast.parse(file.read_bytes())) if name.startswith("mutation.")
            ]
            waiting += [here.joinpath(*lead[1:]).with_suffix(".py") for lead in leads]
    return found
