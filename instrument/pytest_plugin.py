"""A plug-in for pytest: the fixture `weighbridge`, whose assertions print the table and the verdict.

It is imported whenever pytest starts, so it imports torch only when the fixture is used.
"""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from .report.report import Report


class Weighbridge:
    """What a test asks.

    Args:
        record_property: pytest's; verdicts become properties of the test in JUnit XML.
    """

    def __init__(self, record_property: Callable[[str, object], None]) -> None:
        self._record = record_property

    def xray(self, step: Callable[[Any, list[list[int]]], Any], lengths: Sequence[int], **more: Any) -> "Report":
        """As `instrument.xray`."""
        from .api import xray

        return self._noted(xray(step, lengths, **more))

    def watch(self, model: Any, *more: Any, **named: Any) -> Any:
        """As `instrument.watch`; the report is noted when something is asserted of it."""
        from .api import watch

        return watch(model, *more, **named)

    def assert_token_mean(self, report: "Report", tol: float | None = None) -> None:
        """Fail unless every target of each window weighs 1/N."""
        self._noted(report).assert_token_mean(tol)

    def assert_weights(self, report: "Report", expected: Sequence[Any], tol: float | None = None) -> None:
        """Fail unless every target weighs as given, [row][n]."""
        self._noted(report).assert_weights(expected, tol)

    def assert_reaches(self, report: "Report") -> None:
        """Fail unless a gradient came to every trainable parameter in each window."""
        for number, window in enumerate(self._noted(report).windows):
            if window.reached < window.trainable:
                raise AssertionError(
                    f"a gradient came to {window.reached} of {window.trainable} trainable parameters in window "
                    f"{number}\n{report}"
                )

    def assert_no_leak(self, model: Any, batch: Any, **more: Any) -> None:
        """Fail when the loss of a sequence of the batch depends on another sequence; see `instrument.find_leaks`."""
        from .leak import find_leaks

        found = find_leaks(model, batch, **more)
        self._record("weighbridge_leaks", len(found.pairs))
        if found:
            raise AssertionError(str(found))

    def assert_unchanged_training(self, build: Callable[[], Any], train: Callable[[Any], Any]) -> None:
        """Fail unless training while watched leaves the very parameters and random state that training alone leaves.

        Args:
            build: gives the model, the same at each call.
            train: train(model) trains it.
        """
        import torch

        from .api import watch

        ends = []
        start = torch.get_rng_state()
        for watched in (False, True):
            torch.set_rng_state(start)
            model = build()
            if watched:
                with watch(model):
                    train(model)
            else:
                train(model)
            ends.append([*model.state_dict().items(), ("the random state", torch.get_rng_state())])
        for (name, one), (_, other) in zip(*ends):
            if not torch.equal(one, other):
                raise AssertionError(f"{name} differs between training alone and training while watched")

    def _noted(self, report: "Report") -> "Report":
        """The same report; its verdict is a property of the test."""
        from .codes import code_of

        for number, verdict in enumerate(report.verdicts):
            self._record(f"weighbridge_verdict_{number}", verdict.name or "unknown")
            self._record(f"weighbridge_codes_{number}", " ".join(code_of(fault) for fault in verdict.faults))
        return report


def make(record_property: Callable[[str, object], None]) -> Weighbridge:
    """Measures what tokens weigh in a training step; see instrument.pytest_plugin."""
    return Weighbridge(record_property)


weighbridge = pytest.fixture(make, name="weighbridge")
