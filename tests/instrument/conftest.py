"""What scripts of the kind that people have leave in the process of a test, taken back."""

import pytest


@pytest.fixture
def fresh_accelerate():
    """accelerate keeps its precision for the life of a process."""
    from accelerate.state import AcceleratorState

    AcceleratorState._reset_state(reset_partial_state=True)
    yield
    AcceleratorState._reset_state(reset_partial_state=True)
