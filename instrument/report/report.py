"""What was measured, the verdict on it, and assertions about it."""

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike

from .. import elsewhere, files, saved
from ..ledger import Entry, ledger, odd_samples
from ..readable import tolerance
from ..record import Bools, Floats, Record, Row, Window
from ..verdict import Verdict, judge
from . import as_json, as_text


class Report:
    """What each token weighed, and the verdict on it.

    `xray` returns one; `watch` yields one that grows with every window run inside. A report of several windows gives
    its rows window by window.
    """

    def __init__(self, record: Record) -> None:
        self.record = record

    @property
    def windows(self) -> list[Window]:
        """What was measured, window by window."""
        return self.record.windows

    @property
    def rows(self) -> list[Row]:
        """Every row of every window, in the caller's order (xray) or in order of appearance (watch)."""
        self._refuse_when_partial()
        return [row for window in self.windows for row in window.rows]

    @property
    def weights(self) -> list[Floats]:
        """[row][n] absolute weight of each next-token target; 1/N each under a token mean over N targets."""
        return [row.weight for row in self.rows]

    @property
    def verdicts(self) -> list[Verdict]:
        """One verdict per window; the last one also tells of rows that ran in none."""
        self._refuse_when_partial()
        found = [judge(self.record, window) for window in self.windows]
        return [*found[:-1], replace(found[-1], faults=(*found[-1].faults, *elsewhere.missing(self.record)))]

    @property
    def ok(self) -> bool:
        """Every window follows the form that was expected, and has no gradient where none should be."""
        return all(v.ok for v in self.verdicts)

    def deviation_from(self, expected: Sequence[ArrayLike]) -> float:
        """Largest |w - expected| over all targets, times N of the window: 0.01 is one per cent of a token-mean weight.

        Args:
            expected: [row][n] one value for each intended target of each row.

        Raises:
            ValueError: another number of rows, or of targets in a row.
        """
        return float(np.max(self._misses(expected)[0], initial=0.0))

    def assert_weights(self, expected: Sequence[ArrayLike], tol: float | None = None) -> None:
        """Fail unless every weight is as expected and the gradient holds nothing else.

        Nothing else: no other direction than the targets' own; no unlabelled token, no padding and no row that did not
        run has a gradient; some parameter has one; and every row ran. So it fails under label smoothing.

        Args:
            expected: [row][n] as in deviation_from.
            tol: largest |w - expected| * N allowed; what rounding explains of each target when left out.

        Raises:
            ValueError: as deviation_from, and without tol when rounding explains any weight of some target.
        """
        miss, allowed = self._misses(expected)
        allowed = allowed if tol is None else np.full(miss.shape, tol)
        refuse_unreadable(np.isnan(allowed))
        off = miss > allowed
        if off.any():
            worst = int(np.argmax(np.where(off, miss, 0)))
            raise AssertionError(
                f"weights are off by {miss[worst]:.3g} of a token mean, {allowed[worst]:.3g} allowed\n{self}"
            )
        lost = sum(elsewhere.lost_on_the_way(w) for w in self.windows)
        if lost:
            raise AssertionError(
                f"backward delivered other weights than the parameter holds, for {lost} targets\n{self}"
            )
        left = self._remainders()
        off = left > allowed
        if off.any():
            raise AssertionError(
                f"{left[int(np.argmax(left))]:.3g} of a token mean lies off the targets' own gradients: another term "
                f"or target is in\n{self}"
            )
        stray = [f for w in self.windows for f in elsewhere.elsewhere_in_gradient(w)] + elsewhere.missing(self.record)
        if stray:
            raise AssertionError(f"{'; '.join(stray)}\n{self}")

    def assert_token_mean(self, tol: float | None = None) -> None:
        """Fail unless every target of each window weighs 1/N; arguments as in assert_weights."""
        self._refuse_when_partial()
        expected = [
            np.full(int(row.intended.sum()), 1 / window.targets()) for window in self.windows for row in window.rows
        ]
        self.assert_weights(expected, tol)

    def assert_pure_rescaling(self, tol: float | None = None) -> None:
        """Fail unless each target's gradient is its own cross-entropy gradient times a number, whatever the number.

        Args:
            tol: largest remainder allowed, as a share of the weight; what rounding explains of each target when left
                out.

        Raises:
            ValueError: a target cannot be read, or without tol when rounding explains any weight of some target.
        """
        self._refuse_when_empty()
        measured = [(r, tolerance(self.record, r, w.micro_batches)) for w in self.windows for r in w.rows]
        left = np.concatenate([row.remainder + np.abs(row.uniform) for row, _ in measured])
        weight = np.concatenate([np.abs(row.weight) for row, _ in measured])
        allowed = np.concatenate([share if tol is None else np.full(share.shape, tol) for _, share in measured])
        # nan != 0, so what cannot be read is there; an unlabelled token is not.
        there = (left != 0) | (weight != 0)
        refuse_unreadable(np.isnan(weight + allowed)[there])
        off = there & (left > allowed * weight)
        if off.any():
            worst = int(np.argmax(np.where(off, left - allowed * weight, -np.inf)))
            share = left[worst] / weight[worst] if weight[worst] else np.inf
            raise AssertionError(
                f"a share of {share:.3g} of a target's gradient is not its own cross-entropy gradient, "
                f"{allowed[worst]:.3g} allowed\n{self}"
            )

    def ledger(self) -> list[Entry]:
        """Each run of each sample: where it ran, and what its targets were divided by."""
        self._refuse_when_partial()
        return ledger(self.record)

    def assert_each_sample_once(self, samples: Sequence[ArrayLike], epochs: int = 1) -> None:
        """Fail unless each sample ran once in each epoch, on whatever rank.

        Args:
            samples: [s] token ids of each sample of the data set.
            epochs: that were watched.
        """
        odd = odd_samples(self.ledger(), samples, epochs)
        if odd:
            raise AssertionError(f"{len(odd)} of {len(samples)} samples are not counted once: " + "; ".join(odd[:10]))

    def rounding(self) -> float:
        """Largest relative error of a weight that rounding alone explains."""
        errors = [
            tolerance(self.record, row, window.micro_batches)[row.intended]
            for window in self.windows
            for row in window.rows
        ]
        return float(np.nanmax(np.concatenate(errors), initial=0.0))

    def table(self) -> str:
        """The measured weights as text, one line per row of each window, and the verdict."""
        return as_text.table(self.record, self.verdicts)

    def to_json(self, path: str | Path | None = None) -> str:
        """Everything that was measured, as JSON; written to `path` too when one is given."""
        text = json.dumps(as_json.report(self.record, self.verdicts), indent=2, allow_nan=False)
        if path is not None:
            files.write(path, text + "\n")
        return text

    def gathered(self, seconds: float = 60.0) -> "Report":
        """The report over all ranks of a run; every rank must call it, behind the watched block, and gets it.

        Args:
            seconds: how long to wait for the other ranks.

        Raises:
            RuntimeError: a rank did not come in time.
            ValueError: the ranks did not measure the same windows, or not with the same versions.
        """
        # Imported here: a report that was saved is read without torch.
        from ..gathering import gather

        self._refuse_when_empty()
        return Report(gather(self.record, seconds))

    def save(self, folder: str | Path) -> Path:
        """Write what this process measured into a folder that all ranks share; `load` puts the ranks together."""
        self._refuse_when_empty()
        return saved.save(self.record, folder)

    @classmethod
    def load(cls, folder: str | Path) -> "Report":
        """The report over all ranks that have saved into a folder, with no process group.

        Raises:
            LookupError: the record of a rank is missing.
            ValueError: as `gathered`, or a file that another release has written.
        """
        return cls(saved.load(folder))

    def __str__(self) -> str:
        return self.table()

    def _misses(self, expected: Sequence[ArrayLike]) -> tuple[Floats, Floats]:
        """[all targets] |w - expected| * N, and how much of it rounding explains; nan where it explains any weight."""
        if not hasattr(expected, "__len__"):
            raise ValueError(f"expected={expected!r}: give the weights of each row in a list, one for each target")
        expected, misses, allowed = list(expected), [], []
        if len(expected) != len(self.rows):
            raise ValueError(
                f"expected holds {len(expected)} rows but {len(self.rows)} were measured: give one per row"
            )
        measured = [(window, row) for window in self.windows for row in window.rows]
        for number, ((window, row), values) in enumerate(zip(measured, expected)):
            value, weight = np.asarray(values, dtype=np.float64), row.weight[row.intended]
            if value.shape != weight.shape:
                raise ValueError(
                    f"expected[{number}] holds {value.size} weights but the row has {weight.size} targets: "
                    "give one weight for each scored target"
                )
            rounding = tolerance(self.record, row, window.micro_batches)[row.intended]
            misses.append(np.abs(weight - value) * window.targets())
            allowed.append(rounding * np.abs(value) * window.targets())
        miss = np.concatenate(misses)
        refuse_unreadable(np.isnan(miss))
        return miss, np.concatenate(allowed)

    def _remainders(self) -> Floats:
        """[all targets] part of the gradient that is not along the target's own, times N."""
        parts = [
            (row.remainder + np.abs(row.uniform))[row.intended] * window.targets()
            for window in self.windows
            for row in window.rows
        ]
        return np.concatenate(parts)

    def _refuse_when_partial(self) -> None:
        self._refuse_when_empty()
        if self.record.rank >= 0:
            raise RuntimeError(
                f"this is what rank {self.record.rank} of {self.record.ranks} measured, and a weight is judged by the "
                "targets of all ranks: call report.gathered() on every rank, or save() on each and Report.load()"
            )

    def _refuse_when_empty(self) -> None:
        if not self.windows:
            raise RuntimeError(
                "no window was measured yet: read the report after the watched block, or after an optimizer step in it"
            )


def refuse_unreadable(unreadable: Bools) -> None:
    """Raise when a comparison would rest on weights that nobody knows."""
    if unreadable.any():
        raise ValueError(
            f"{int(unreadable.sum())} of {unreadable.size} targets cannot be read: rounding explains any weight, as "
            "where the model is certain of the target; watch an earlier state of the model, or one in a wider dtype"
        )
