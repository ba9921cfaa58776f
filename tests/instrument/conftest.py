"""What scripts of the kind that people have leave in the process of a test, taken back; what other releases lack."""

import pytest

from tests.instrument import needs


@pytest.fixture
def fresh_accelerate():
    """accelerate keeps its precision for the life of a process."""
    from accelerate.state import AcceleratorState

    AcceleratorState._reset_state(reset_partial_state=True)
    yield
    AcceleratorState._reset_state(reset_partial_state=True)


class Lacking(pytest.Module):
    """A file that cannot even be imported here."""

    def collect(self):
        pytest.skip(needs.reason(self.path.name), allow_module_level=True)


def pytest_pycollect_makemodule(module_path, parent):
    """Leave the import of a file to releases that have what it needs."""
    return Lacking.from_parent(parent, path=module_path) if needs.reason(module_path.name) else None


def pytest_collection_modifyitems(items):
    """A test whose release lacks what it needs must fail, so that no entry of needs.toml outlives its reason."""
    for item in items:
        case = item.nodeid.partition("::")[2]
        why = needs.reason(f"{item.path.name}::{case.partition('[')[0]}", f"{item.path.name}::{case}")
        if why:
            item.add_marker(pytest.mark.xfail(reason=why, strict=True))
