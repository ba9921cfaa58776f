"""A pytest plugin for mutmut's runs: writes down which test fails under which mutant, and how.

Each failure is one line, appended before the next test starts, so a mutant that ends the process takes nothing with
it. mutmut stops at the first failing test; with this plugin a run goes on until a test fails by assertion or by a
documented refusal, because a TypeError in one test does not mean that no other test would judge the result. It gives
up when ten tests have failed otherwise: a mutant that stops every test with an error would cost more than all others.
"""

import contextlib
import importlib.util
import json
import os
import sys
from typing import Any

import pytest

# Hypothesis imports it at the first failure, which would be once in every forked child.
with contextlib.suppress(ImportError):
    import hypothesis.extra._patching  # noqa: F401


def load_rules() -> Any:
    """Import `mutation/raised.py` from where the driver lies, under a name of its own.

    The copy that the tests see may be the one that is being mutated.
    """
    spec = importlib.util.spec_from_file_location("kill_log_rules", os.environ["KILL_LOG_RULES"])
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def pytest_configure(config: pytest.Config) -> None:
    """Watch the run where a mutant is on; mutmut's own runs without one stay as they are."""
    if "KILL_LOG" in os.environ and "__mutmut_" in os.environ.get("MUTANT_UNDER_TEST", ""):
        config.option.maxfail = 0
        config.pluginmanager.register(KillLog(load_rules()), "weighbridge-kill-log")


class KillLog:
    """Appends one line of JSON per failure."""

    def __init__(self, rules: Any) -> None:
        self.rules = rules
        self.mutant = os.environ["MUTANT_UNDER_TEST"]
        self.everything = bool(os.environ.get("KILL_LOG_MATRIX"))
        self.errors = 0

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self, item: pytest.Item, call: pytest.CallInfo[Any]) -> Any:
        report = yield
        if report.failed:
            kind, what = "error", str(report.longrepr)
            if call.excinfo is not None:
                error = call.excinfo.value
                what = f"{type(error).__name__}: {error}"
                if report.when == "call":
                    kind = self.rules.kind_of(self.rules.describe(error, item.config.rootpath))
            self.write(test=item.nodeid, when=report.when, kind=kind, what=what[:300])
            self.errors += kind == "error"
            if (kind != "error" or self.errors == 10) and not self.everything:
                item.session.shouldfail = "enough is known of the mutant"
        return report

    def write(self, **line: object) -> None:
        """Append a line, in one call that other processes cannot come between."""
        file = os.open(os.environ["KILL_LOG"], os.O_WRONLY | os.O_APPEND | os.O_CREAT)
        os.write(file, (json.dumps({"mutant": self.mutant, **line}) + "\n").encode())
        os.close(file)
