"""What the suite calls while it is collected, before a fault is switched on."""

from collections.abc import Generator, Mapping
from contextlib import ExitStack
from pathlib import Path

import pytest

from faults import Fault
from faults._started import everywhere
from mutation.single_thread import refuse_threads
from mutation.switches import missing


class CollectionHits:
    """A pytest plugin that books calls of seams on the file whose collection made them.

    The seams are looked up once pytest has started: it must not find that its plugins are imported already.

    Attributes:
        stale: what is missing, by the name of the fault.
        entered: by seam, the files whose collection called it.
        files: of the tests, and every conftest.py.
    """

    def __init__(self, faults: Mapping[str, Fault], folder: Path) -> None:
        self.faults, self.folder = faults, folder
        self.stack = ExitStack()
        self.stale: dict[str, str] = {}
        self.entered: dict[str, set[str]] = {}
        self.files: set[Path] = set()

    def pytest_sessionstart(self) -> None:
        found = {name: missing(fault) for name, fault in self.faults.items()}
        self.stale = {name: why for name, why in found.items() if why}
        seams = {fault.seam for name, fault in self.faults.items() if name not in self.stale}
        self.calls = self.stack.enter_context(everywhere(sorted(seams), self.folder))

    @pytest.hookimpl(wrapper=True)
    def pytest_make_collect_report(self, collector: pytest.Collector) -> Generator[None, object, object]:
        before = dict(self.calls())
        report = yield
        for seam, count in self.calls().items():
            if count > before[seam]:
                self.entered.setdefault(seam, set()).add(collector.nodeid.partition("::")[0])
        return report

    def look(self, session: pytest.Session) -> Path:
        """Check that a fork would be safe, note the files, and name the folder of the project."""
        refuse_threads()
        plugins = [getattr(plugin, "__file__", None) for plugin in session.config.pluginmanager.get_plugins()]
        conftests = {Path(file) for file in plugins if file and Path(file).name == "conftest.py"}
        self.files = {item.path for item in session.items} | conftests
        return session.config.rootpath
