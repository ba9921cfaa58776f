"""Compares rows of several lengths."""

import numpy as np


def assert_rows(found, expected):
    assert [len(row) for row in expected] == [len(row) for row in found]
    np.testing.assert_allclose(np.concatenate(found), np.concatenate(expected), atol=1e-15)
